import { Duplex } from 'node:stream'
import type { SpdyHeaders } from './header-block.ts'
import { SendWindow } from './send-window.ts'

/** What a stream needs of its connection. */
export interface StreamCarrier {
  /** `done` when the connection takes more. */
  sendData(stream: SpdyStream, data: Buffer, isLast: boolean, done: (error?: Error | null) => void): void
  reset(stream: SpdyStream): void
  /** So many bytes of a stream were read by whoever it is for. */
  consumed(stream: SpdyStream, bytes: number): void
  /** Nobody reads this stream as fast as it comes; nothing more may come. */
  block(stream: SpdyStream, isBlocked: boolean): void
  /** Both directions have ended. */
  over(stream: SpdyStream): void
}

/** More unread bytes than this stop the whole connection: many peers know no windows. */
const MAX_UNREAD_BYTES = 1024 * 1024
const HIGH_WATER_BYTES = 64 * 1024

/** One stream of a connection; each direction ends by itself. */
export class SpdyStream extends Duplex {
  readonly id: number
  readonly headers: SpdyHeaders
  readonly window: SendWindow
  readonly #carrier: StreamCarrier
  #unacknowledged = 0
  #isBlocked = false
  #isEndedByPeer = false
  #isEndedHere = false
  #accept = () => {}
  #refuse = (_: Error) => {}
  /** Resolves when the other side has agreed to the stream. */
  readonly accepted: Promise<void>

  constructor(carrier: StreamCarrier, id: number, headers: SpdyHeaders, window: number) {
    super({ allowHalfOpen: true, highWaterMark: HIGH_WATER_BYTES, autoDestroy: true })
    this.#carrier = carrier
    this.id = id
    this.headers = headers
    this.window = new SendWindow(window)
    this.accepted = new Promise((resolve, reject) => {
      this.#accept = resolve
      this.#refuse = reject
    })
    this.accepted.catch(() => {})
    // A stream that breaks is told by `close`; nobody has to listen for the reason.
    this.on('error', () => {})
  }

  replied(): void {
    this.#accept()
  }

  /** Data from the other side. */
  receive(part: Buffer, isLast: boolean): void {
    if (this.destroyed || this.#isEndedByPeer) {
      this.#carrier.consumed(this, part.length)
      return
    }
    if (part.length > 0) {
      this.#unacknowledged += part.length
      if (this.push(part)) this.#acknowledge()
      else if (this.readableLength > MAX_UNREAD_BYTES) this.#block(true)
    }
    if (isLast) {
      this.#isEndedByPeer = true
      this.push(null)
      this.#settle()
    }
  }

  /** The other side gave the stream up, or is gone. */
  fail(reason: Error): void {
    this.#refuse(reason)
    this.#isEndedByPeer = true
    this.#isEndedHere = true
    this.#settle()
    if (this.destroyed) return
    // What came before may still be read.
    if (!this.readableEnded) this.push(null)
    if (this.readableLength === 0 && this.readableFlowing === null) this.destroy()
    else this.once('end', () => this.destroy())
  }

  override _read(): void {
    this.#acknowledge()
    this.#block(false)
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#isEndedHere) done(new Error('the stream is closed'))
    else this.#carrier.sendData(this, chunk, false, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#isEndedHere) {
      done()
      return
    }
    this.#isEndedHere = true
    this.#carrier.sendData(this, Buffer.alloc(0), true, (error) => {
      done(error)
      this.#settle()
    })
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isEndedByPeer || !this.#isEndedHere) this.#carrier.reset(this)
    this.#refuse(error ?? new Error('the stream is closed'))
    this.#isEndedByPeer = true
    this.#isEndedHere = true
    this.#block(false)
    this.#acknowledge()
    this.#carrier.over(this)
    done(error)
  }

  get isOver(): boolean {
    return this.#isEndedByPeer && this.#isEndedHere
  }

  #settle(): void {
    if (this.isOver) this.#carrier.over(this)
  }

  #acknowledge(): void {
    const bytes = this.#unacknowledged
    this.#unacknowledged = 0
    if (bytes > 0) this.#carrier.consumed(this, bytes)
  }

  #block(isBlocked: boolean): void {
    if (isBlocked === this.#isBlocked) return
    this.#isBlocked = isBlocked
    this.#carrier.block(this, isBlocked)
  }
}
