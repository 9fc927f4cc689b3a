import type { TLSSocket } from 'node:tls'
import { COPIED_BYTES, dataFrames, sharedDataFrames } from './data-frames.ts'
import { DATA, END_STREAM, FRAME_HEADER_BYTES, MAX_FRAME_BYTES, writeFrameHeader } from './frames.ts'

/** More than this is not given to a socket whose client does not read; the rest waits in the streams. */
const MAX_UNSENT_BYTES = 1024 * 1024
/** A client that does not read and makes us answer all the same is cut off. */
const MAX_FORCED_BYTES = 8 * MAX_UNSENT_BYTES
/** Up to this size what is sent at once is made one buffer first. */
const JOINED_BYTES = 32 * 1024

/** Pieces of large answers, with the heads of their frames, fit in here. */
const SCRATCH_BYTES = 320 * 1024

/** The largest frame that is made even for clients that take larger ones. */
const LARGEST_FRAME_BYTES = 256 * 1024

type Done = (error?: Error) => void

/** What a connection sends: everything of one turn of the event loop is encrypted and written at once. */
export class Output {
  readonly #socket: TLSSocket
  readonly #onDrained: () => void
  #parts: Buffer[] = []
  #bytes = 0
  #dones: Done[] = []
  #inFlight = 0
  #isFlushComing = false
  #maxFrame = MAX_FRAME_BYTES

  /** `onDrained` is called whenever there is more room. */
  constructor(socket: TLSSocket, onDrained: () => void) {
    this.#socket = socket
    this.#onDrained = onDrained
  }

  /** How much more the socket should be given now. */
  get room(): number {
    return MAX_UNSENT_BYTES - this.#bytes - this.#inFlight
  }

  get maxFrame(): number {
    return this.#maxFrame
  }

  set maxFrame(bytes: number) {
    this.#maxFrame = Math.min(bytes, LARGEST_FRAME_BYTES)
  }

  push(bytes: Buffer): void {
    this.#parts.push(bytes)
    this.#bytes += bytes.length
    if (this.#isFlushComing) return
    this.#isFlushComing = true
    process.nextTick(this.#flush)
  }

  /** `done` is called when the bytes are on their way. */
  pushData(id: number, bytes: Buffer, isLast: boolean, done?: Done): void {
    if (done) this.#dones.push(done)
    const maxFrame = this.#maxFrame
    if (bytes.length > COPIED_BYTES) this.#pushLarge(id, bytes, isLast)
    // Who is not told when bytes are sent cannot use their memory again: they stay what they are.
    else if (!done && !isLast) this.push(sharedDataFrames(id, bytes, maxFrame))
    else this.push(dataFrames(id, bytes, isLast, maxFrame))
  }

  #pushLarge(id: number, bytes: Buffer, isLast: boolean): void {
    const { length } = bytes
    for (let at = 0; at < length; at += this.#maxFrame) {
      const end = Math.min(length, at + this.#maxFrame)
      const head = Buffer.allocUnsafe(FRAME_HEADER_BYTES)
      writeFrameHeader(head, 0, end - at, DATA, isLast && end === length ? END_STREAM : 0, id)
      this.push(head)
      this.push(bytes.subarray(at, end))
    }
  }

  #flush = (): void => {
    this.#isFlushComing = false
    const socket = this.#socket
    const parts = this.#parts
    const bytes = this.#bytes
    const dones = this.#dones
    this.#parts = []
    this.#bytes = 0
    this.#dones = []
    if (socket.destroyed || socket.writableEnded) return
    this.#inFlight += bytes
    if (this.#inFlight > MAX_FORCED_BYTES) {
      socket.destroy()
      return
    }
    const written = () => {
      this.#inFlight -= bytes
      for (const done of dones) done()
      this.#onDrained()
    }
    if (parts.length === 1) socket.write(parts[0]!, written)
    else if (bytes <= JOINED_BYTES) socket.write(Buffer.concat(parts, bytes), written)
    else if (socket.encrypted && this.#inFlight === bytes && bytes <= SCRATCH_BYTES)
      socket.write(gather(parts), written)
    else writeTogether(socket, parts, written)
  }
}

let scratch: Buffer | undefined

/**
 * The parts as one, in memory that is used again at once: a TLS socket that has nothing else to send encrypts what it is
 * given before `write` returns. Node itself would copy them into new memory, whose pages cost more than the copy.
 */
function gather(parts: readonly Buffer[]): Buffer {
  scratch ??= Buffer.allocUnsafeSlow(SCRATCH_BYTES)
  let at = 0
  for (const part of parts) at += part.copy(scratch, at)
  return scratch.subarray(0, at)
}

function writeTogether(socket: TLSSocket, parts: readonly Buffer[], written: () => void): void {
  socket.cork()
  const last = parts.length - 1
  for (let i = 0; i < last; i++) socket.write(parts[i]!)
  socket.write(parts[last]!, written)
  socket.uncork()
}
