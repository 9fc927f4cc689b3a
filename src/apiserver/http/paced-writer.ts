import type { Outgoing } from './outgoing.ts'
import { Turns } from './turns.ts'

/** Smaller ones cost a list of some megabytes twice the CPU: a client's window comes back in parts of a few KB. */
export const PIECE_BYTES = 256 * 1024
/** Encrypting a megabyte is a matter of milliseconds, as are the few requests that are begun in a turn. */
const PIECES_PER_TURN = 4
/** Up to this size chunks are copied into one, as the objects of a list are; a few are not worth the memory. */
const SMALL_BYTES = 16 * 1024
const FEW = 8

/** There is one event loop, and so one order, for what all connections have to send. */
const turns = new Turns(PIECES_PER_TURN)

/** Who is told what becomes of the pieces. */
export interface PieceListener {
  onWrite?(): void
  onWritten?(): void
}

/**
 * Writes piece by piece, the connections taking turns: whole lists of hundreds of requests, encrypted one after the
 * other, would keep everybody else waiting for as long. A piece is written when the one before it is on its way, so a
 * client that does not read holds up nobody.
 */
export class PacedWriter {
  readonly #out: Outgoing
  readonly #connection: object
  readonly #listener: PieceListener
  #queue: Buffer[] = []
  /** The first of the queue that has not been written. */
  #at = 0
  /** Where small chunks of a piece are put together; the next piece may have it when this one is on its way. */
  #gathered: Buffer | undefined
  #waitingBytes = 0
  #isBusy = false
  #isEnding = false

  constructor(out: Outgoing, connection: object, listener: PieceListener = {}) {
    this.#out = out
    this.#connection = connection
    this.#listener = listener
  }

  /** What has not been written yet. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  get isIdle(): boolean {
    return !this.#isBusy
  }

  write(chunks: readonly Buffer[]): void {
    for (const chunk of chunks) {
      this.#queue.push(chunk)
      this.#waitingBytes += chunk.length
    }
    this.#takeTurn()
  }

  end(chunks: readonly Buffer[] = []): void {
    this.#isEnding = true
    this.write(chunks)
  }

  #takeTurn(): void {
    if (this.#isBusy) return
    this.#isBusy = true
    turns.take(this.#connection, () => this.#writePiece())
  }

  #writePiece(): void {
    const out = this.#out
    if (out.destroyed || out.writableEnded) return
    const piece = this.#nextPiece()
    const last = piece.pop()
    this.#listener.onWrite?.()
    // The few bytes before and after the items of a list go with the piece beside them.
    out.cork()
    for (const part of piece) out.write(part)
    if (last) out.write(last, (error) => this.#written(error))
    if (this.#isEnding && this.#waitingBytes === 0) out.end()
    out.uncork()
  }

  #written(error: Error | null | undefined): void {
    this.#listener.onWritten?.()
    this.#isBusy = false
    if (!error && this.#waitingBytes > 0) this.#takeTurn()
    else if (!error && this.#isEnding && !this.#out.writableEnded) this.#out.end()
  }

  #nextPiece(): Buffer[] {
    const piece: Buffer[] = []
    const small = new Gathered(this.#gathered)
    const gathersUpTo = this.#queue.length - this.#at > FEW ? SMALL_BYTES : 0
    let room = PIECE_BYTES
    while (room > 0 && this.#at < this.#queue.length) {
      const chunk = this.#queue[this.#at]!
      const size = Math.min(room, chunk.length)
      if (size <= gathersUpTo) small.add(chunk, size)
      else piece.push(...small.take(), chunk.subarray(0, size))
      if (chunk.length <= room) this.#at++
      else this.#queue[this.#at] = chunk.subarray(room)
      room -= size
    }
    piece.push(...small.take())
    this.#gathered = small.memory
    if (this.#at === this.#queue.length) {
      this.#queue = []
      this.#at = 0
    }
    this.#waitingBytes -= PIECE_BYTES - room
    return piece
  }
}

/** Small chunks of one piece, one behind the other. */
class Gathered {
  memory: Buffer | undefined
  #from = 0
  #to = 0

  constructor(memory: Buffer | undefined) {
    this.memory = memory
  }

  add(chunk: Buffer, size: number): void {
    this.memory ??= Buffer.allocUnsafeSlow(PIECE_BYTES)
    this.#to += chunk.copy(this.memory, this.#to, 0, size)
  }

  /** What was added since it was asked last. */
  take(): Buffer[] {
    if (this.memory === undefined || this.#from === this.#to) return []
    const taken = this.memory.subarray(this.#from, this.#to)
    this.#from = this.#to
    return [taken]
  }
}
