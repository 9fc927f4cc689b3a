import type { IncomingHttpHeaders } from 'node:http2'
import type { Http2Connection } from './connection.ts'
import { CANCEL, FLOW_CONTROL_ERROR, PROTOCOL_ERROR, STREAM_CLOSED, StreamError } from './frames.ts'

/** Who reads a body: `end` or `broken` is the last thing they hear. */
export interface BodyReader {
  data(chunk: Buffer): void
  end(): void
  broken(): void
}

interface Waiting {
  bytes: Buffer
  readonly isLast: boolean
  readonly done: ((error?: Error) => void) | undefined
}

/** A client whose window is this large is told to go on when half of it was used. */
const REFILL_SHARE = 0.5
const MAX_WINDOW = 2 ** 31 - 1
/** An answer that was written to its end, and of which a client took nothing for so many looks, is given up. */
const MAX_UNREAD_LOOKS = 4
/** A body of which nothing came for so many looks, before an answer began, is given up. */
const MAX_UNSENT_LOOKS = 20
/** What one stream sends before the next of its connection has its turn. */
const BYTES_PER_TURN = 64 * 1024

/** One request and its answer. Its answer is written as to a Writable; what the client's window has no room for waits. */
export class Http2Stream {
  readonly id: number
  readonly headers: IncomingHttpHeaders
  readonly connection: Http2Connection
  /** How long the body will be; undefined if only its end tells. A body of any other length breaks the stream. */
  readonly bodyLength: number | undefined
  /** Nothing can be sent any more. */
  destroyed = false
  headersSent = false
  /** The last of the answer has been written, if not sent. */
  writableEnded = false
  /** Written and not yet sent. */
  writableLength = 0
  #queue: Waiting[] = []
  #closeListeners: (() => void)[] = []
  #sendWindow: number

  #reader: BodyReader | undefined
  #unread: Buffer[] = []
  #hasEnded: boolean
  #receiveWindow: number
  /** Received and not yet consumed. */
  #owed = 0
  /** Consumed and not yet told. */
  #used = 0
  #received = 0
  #looks = 0
  #progress = 0
  /** The body's length by its `content-length`; Infinity without one. */
  readonly #announced: number

  constructor(connection: Http2Connection, id: number, headers: IncomingHttpHeaders, hasEnded: boolean) {
    this.connection = connection
    this.id = id
    this.headers = headers
    this.#hasEnded = hasEnded
    this.#sendWindow = connection.initialSendWindow
    this.#receiveWindow = connection.initialReceiveWindow
    const announced = headers['content-length']
    this.#announced = announced === undefined ? Number.POSITIVE_INFINITY : Number(announced)
    this.bodyLength = hasEnded ? 0 : announced === undefined ? undefined : this.#announced
    if (hasEnded && announced !== undefined) this.#checkWhole()
  }

  once(_event: 'close', listener: () => void): void {
    if (this.destroyed) process.nextTick(listener)
    else this.#closeListeners.push(listener)
  }

  /** Begins the answer; with a body that is all of it. */
  respond(status: number, headers: Readonly<Record<string, string | number | string[]>>, body?: Buffer): void {
    if (this.destroyed || this.headersSent) return
    this.headersSent = true
    const isHeadOnly = this.headers[':method'] === 'HEAD' || status === 204 || status === 304
    if (isHeadOnly || (body && this.#canSend(body.length))) {
      const sent = isHeadOnly ? undefined : body
      if (sent) this.#sendWindow -= sent.length
      this.writableEnded = true
      this.connection.sendHead(this.id, status, headers, sent, true)
      this.#ended()
      return
    }
    this.connection.sendHead(this.id, status, headers, undefined, false)
    if (body) this.end(body)
  }

  /** `done` is called when the bytes are on their way, or cannot be sent any more. */
  write(bytes: Buffer, done?: (error?: Error) => void): void {
    if (bytes.length === 0) done?.()
    else this.#send(bytes, false, done)
  }

  end(bytes: Buffer = NOTHING): void {
    if (this.writableEnded) return
    this.#send(bytes, true)
    this.writableEnded = true
  }

  /** The connection gathers what is written in a turn. */
  cork(): void {}
  uncork(): void {}

  /** Breaks the answer off. */
  destroy(code = CANCEL): void {
    if (this.destroyed) return
    this.connection.sendReset(this.id, code)
    this.closed()
  }

  /** Hands the body to a reader: what has come at once, the rest as it comes. */
  read(reader: BodyReader): void {
    this.#reader = reader
    const chunks = this.#unread
    this.#unread = []
    for (const chunk of chunks) reader.data(chunk)
    if (this.destroyed) reader.broken()
    else if (this.#hasEnded) reader.end()
  }

  /** The reader has room for as much again. */
  consumed(bytes: number): void {
    if (this.destroyed) return
    this.#owed -= bytes
    this.connection.consumed(bytes)
    if (this.#hasEnded) return
    this.#used += bytes
    if (this.#used < this.connection.initialReceiveWindow * REFILL_SHARE) return
    this.connection.sendWindowUpdate(this.id, this.#used)
    this.#receiveWindow += this.#used
    this.#used = 0
  }

  /** Sends what waits as far as the windows allow, but leaves room for other streams. True if anything was sent. */
  sendWaiting(): boolean {
    let room = Math.min(BYTES_PER_TURN, this.#sendWindow, this.connection.sendRoom)
    let hasSent = false
    for (let first = this.#queue[0]; first; first = this.#queue[0]) {
      if (room <= 0 && first.bytes.length > 0) return hasSent
      const isWhole = first.bytes.length <= room
      const bytes = isWhole ? first.bytes : first.bytes.subarray(0, room)
      room -= bytes.length
      this.writableLength -= bytes.length
      this.#sendWindow -= bytes.length
      hasSent = true
      if (isWhole) this.#queue.shift()
      else first.bytes = first.bytes.subarray(bytes.length)
      this.connection.sendData(this.id, bytes, isWhole && first.isLast, isWhole ? first.done : undefined)
      if (isWhole && first.isLast) {
        this.#ended()
        return true
      }
    }
    this.connection.hasNothingWaiting(this)
    return hasSent
  }

  /** Taken every LOOK_MS: breaks off where the client neither sends nor reads. Those who only listen are left alone. */
  look(): void {
    const progress = this.#received - this.writableLength
    const isStuck = progress === this.#progress && (this.writableEnded || !(this.#hasEnded || this.headersSent))
    this.#progress = progress
    this.#looks = isStuck ? this.#looks + 1 : 0
    if (this.#looks >= (this.writableEnded ? MAX_UNREAD_LOOKS : MAX_UNSENT_LOOKS)) this.destroy()
  }

  /** `frameBytes` counts the padding too. */
  dataReceived(payload: Buffer, frameBytes: number, isLast: boolean): void {
    this.#owed += frameBytes
    if (this.#hasEnded) throw new StreamError(this.id, STREAM_CLOSED, 'data after the end')
    this.#receiveWindow -= frameBytes
    if (this.#receiveWindow < 0) throw new StreamError(this.id, FLOW_CONTROL_ERROR, 'more data than allowed')
    // Padding is read as soon as it is here.
    if (frameBytes > payload.length) this.consumed(frameBytes - payload.length)
    this.#received += payload.length
    // Before anything else sees the bytes: they may be on their way to another server.
    if (this.#received > this.#announced) throw new StreamError(this.id, PROTOCOL_ERROR, 'more data than announced')
    if (payload.length > 0) {
      if (this.#reader) this.#reader.data(payload)
      else this.#unread.push(payload)
    }
    if (isLast) this.endReceived()
  }

  endReceived(): void {
    if (this.#hasEnded) throw new StreamError(this.id, STREAM_CLOSED, 'an end after the end')
    this.#checkWhole()
    this.#hasEnded = true
    this.#reader?.end()
  }

  windowGrew(bytes: number): void {
    this.#sendWindow += bytes
    if (this.#sendWindow > MAX_WINDOW) throw new StreamError(this.id, FLOW_CONTROL_ERROR, 'window too large')
  }

  /** There is nothing more to come, for whatever reason. */
  closed(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.connection.forget(this)
    this.connection.consumed(this.#owed)
    if (!this.#hasEnded) this.#reader?.broken()
    this.writableLength = 0
    if (this.#queue.length === 0 && this.#closeListeners.length === 0) return
    const queue = this.#queue
    this.#queue = []
    // Later, as from any stream: whoever caused this may be in the midst of something.
    process.nextTick(() => {
      for (const { done } of queue) done?.(new Error('the client is gone'))
      for (const listener of this.#closeListeners) listener()
    })
  }

  #checkWhole(): void {
    if (this.#received < this.#announced && this.#announced !== Number.POSITIVE_INFINITY)
      throw new StreamError(this.id, PROTOCOL_ERROR, 'less data than announced')
  }

  #canSend(bytes: number): boolean {
    return bytes <= this.#sendWindow && bytes <= this.connection.sendRoom
  }

  #send(bytes: Buffer, isLast: boolean, done?: (error?: Error) => void): void {
    if (this.destroyed || this.writableEnded) {
      done?.(new Error('the answer has ended'))
      return
    }
    if (this.#queue.length === 0 && bytes.length <= BYTES_PER_TURN && this.#canSend(bytes.length)) {
      this.#sendWindow -= bytes.length
      this.connection.sendData(this.id, bytes, isLast, done)
      if (isLast) this.#ended()
      return
    }
    this.#queue.push({ bytes, isLast, done })
    this.writableLength += bytes.length
    if (this.#queue.length > 1) return
    this.connection.hasWaiting(this)
    this.sendWaiting()
  }

  #ended(): void {
    if (!this.#hasEnded) this.connection.resetLater(this.id)
    this.closed()
  }
}

const NOTHING = Buffer.alloc(0)
