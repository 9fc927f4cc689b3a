import type { Duplex } from 'node:stream'
import {
  controlFrame,
  dataFrame,
  FLAG_FIN,
  type FrameHandler,
  FrameReader,
  FrameType,
  INITIAL_WINDOW_SIZE_SETTING,
  ResetStatus,
  SpdyProtocolError,
} from './frame.ts'
import { HeaderDecoder, HeaderEncoder, type SpdyHeaders } from './header-block.ts'
import { SendWindow } from './send-window.ts'
import { SpdyStream, type StreamCarrier } from './stream.ts'

interface SessionOptions {
  readonly role: 'client' | 'server'
  readonly onStream?: (stream: SpdyStream) => boolean
}

const DEFAULT_WINDOW = 64 * 1024
/** What everybody may rely on is little; the first time a window is refilled it becomes this much wider. */
const WIDER_BY = { stream: 960 * 1024, connection: 16 * 1024 * 1024 }
/** A window is refilled when this much of it was read: the first time, and later. */
const REFILL_BYTES = { first: DEFAULT_WINDOW / 2, later: 256 * 1024 }
const MAX_DATA_BYTES = 64 * 1024
/** Streams of one connection that may be open at once. */
const MAX_STREAMS = 4096
/** Answers to pings and to streams that a peer who does not read may cause. */
const MAX_UNREAD_ANSWERS = 10_000
const CONNECTION = 0
const NOTHING = Buffer.alloc(0)

/**
 * Windows: Go's implementation, the one that nearly everybody uses, knows none. So what is sent is limited by the
 * connection alone, until the other side shows by a SETTINGS or WINDOW_UPDATE frame that it keeps windows. The other way
 * windows are always refilled as data is read; who ignores that is stopped by the connection.
 */
export class SpdySession implements FrameHandler, StreamCarrier {
  readonly #socket: Duplex
  readonly #options: SessionOptions
  readonly #streams = new Map<number, SpdyStream>()
  readonly #blocked = new Set<SpdyStream>()
  readonly #unreplied = new Set<SpdyStream>()
  readonly #encoder = new HeaderEncoder()
  readonly #decoder = new HeaderDecoder()
  readonly #window = new SendWindow(DEFAULT_WINDOW)
  /** By stream: what was read and not told yet. */
  readonly #read = new Map<number, number>()
  readonly #widened = new Set<number>()
  readonly #drained: (() => void)[] = []
  #hasStreamWindows = false
  #hasConnectionWindow = false
  #initialWindow = DEFAULT_WINDOW
  #nextId: number
  #lastId = 0
  #isClosing = false
  #isCorked = false
  #unreadAnswers = 0
  readonly closed: Promise<void>

  constructor(socket: Duplex, options: SessionOptions) {
    this.#socket = socket
    this.#options = options
    this.#nextId = options.role === 'client' ? 1 : 2
    const reader = new FrameReader(this)
    socket.on('data', (chunk: Buffer) => this.#take(reader, chunk))
    socket.on('drain', () => {
      this.#unreadAnswers = 0
      for (const callback of this.#drained.splice(0)) callback()
    })
    socket.on('error', () => socket.destroy())
    socket.on('end', () => socket.end())
    this.closed = new Promise((resolve) => {
      const gone = () => {
        this.#failAll()
        resolve()
      }
      if (socket.destroyed) gone()
      else socket.once('close', gone)
    })
  }

  get streamCount(): number {
    return this.#streams.size
  }

  open(headers: SpdyHeaders): SpdyStream {
    const stream = new SpdyStream(this, this.#nextId, headers, this.#initialWindow)
    this.#nextId += 2
    this.#streams.set(stream.id, stream)
    const priority = Buffer.alloc(2)
    this.#send(controlFrame(FrameType.SYN_STREAM, 0, stream.id, 0, priority, this.#encoder.encode(headers)))
    return stream
  }

  close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#send(controlFrame(FrameType.GOAWAY, 0, this.#lastId, 0))
    if (this.#streams.size === 0) this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  data(streamId: number, part: Buffer, isLast: boolean): void {
    const stream = this.#streams.get(streamId)
    if (stream) stream.receive(part, isLast)
    else this.#refill(CONNECTION, part.length)
  }

  control(type: number, flags: number, body: Buffer): void {
    const streamId = body.length >= 4 ? body.readUInt32BE(0) & 0x7fffffff : 0
    const stream = this.#streams.get(streamId)
    if (type === FrameType.SYN_STREAM) this.#opened(streamId, body, flags)
    else if (type === FrameType.SYN_REPLY || type === FrameType.HEADERS) this.#headersOf(stream, body, flags)
    else if (type === FrameType.RST_STREAM) stream?.fail(new Error(`the stream was reset (${body.readUInt32BE(4)})`))
    else if (type === FrameType.SETTINGS) this.#configure(body)
    else if (type === FrameType.PING) this.#pinged(body)
    else if (type === FrameType.GOAWAY) this.#leave()
    else if (type === FrameType.WINDOW_UPDATE) this.#grow(streamId, body.readUInt32BE(4) & 0x7fffffff)
  }

  sendData(stream: SpdyStream, data: Buffer, isLast: boolean, done: (error?: Error | null) => void): void {
    this.#reply(stream)
    let at = 0
    const go = () => {
      if (this.#socket.destroyed || !this.#streams.has(stream.id)) return done(new Error('the stream is closed'))
      do {
        const room = this.#room(stream)
        if (room <= 0 && data.length > 0) return this.#whenRoom(stream, go)
        const part = data.subarray(at, at + Math.min(MAX_DATA_BYTES, room))
        at += part.length
        this.#window.take(part.length)
        stream.window.take(part.length)
        const isFlowing = this.#send(...dataFrame(stream.id, isLast && at === data.length ? FLAG_FIN : 0, part))
        if (!isFlowing) return this.#drained.push(at < data.length ? go : () => done())
      } while (at < data.length)
      done()
    }
    go()
  }

  reset(stream: SpdyStream): void {
    if (!this.#streams.has(stream.id)) return
    const status = this.#unreplied.delete(stream) ? ResetStatus.REFUSED_STREAM : ResetStatus.CANCEL
    this.#answer(controlFrame(FrameType.RST_STREAM, 0, stream.id, status))
  }

  consumed(stream: SpdyStream, bytes: number): void {
    this.#refill(CONNECTION, bytes)
    if (this.#streams.has(stream.id)) this.#refill(stream.id, bytes)
  }

  block(stream: SpdyStream, isBlocked: boolean): void {
    if (isBlocked) this.#blocked.add(stream)
    else this.#blocked.delete(stream)
    if (this.#blocked.size > 0) this.#socket.pause()
    else this.#socket.resume()
  }

  over(stream: SpdyStream): void {
    this.#read.delete(stream.id)
    this.#widened.delete(stream.id)
    this.#unreplied.delete(stream)
    if (!this.#streams.delete(stream.id)) return
    stream.window.wake()
    if (this.#isClosing && this.#streams.size === 0) this.#socket.end()
  }

  #take(reader: FrameReader, chunk: Buffer): void {
    try {
      reader.push(chunk)
    } catch (error) {
      const isProtocol = error instanceof SpdyProtocolError || error instanceof RangeError
      this.#socket.destroy(isProtocol ? error : new SpdyProtocolError(`a frame is not valid: ${error}`))
    }
  }

  #opened(streamId: number, body: Buffer, flags: number): void {
    const headers = this.#decoder.decode(body.subarray(10))
    const isTheirs = streamId % 2 !== this.#nextId % 2 && streamId > this.#lastId
    if (isTheirs) this.#lastId = streamId
    if (!isTheirs || this.#isClosing || this.#streams.size >= MAX_STREAMS) {
      const status = isTheirs ? ResetStatus.REFUSED_STREAM : ResetStatus.PROTOCOL_ERROR
      this.#answer(controlFrame(FrameType.RST_STREAM, 0, streamId, status))
      return
    }
    const stream = new SpdyStream(this, streamId, headers, this.#initialWindow)
    this.#streams.set(streamId, stream)
    this.#unreplied.add(stream)
    if (!this.#options.onStream?.(stream)) {
      stream.destroy()
      return
    }
    this.#reply(stream)
    if ((flags & FLAG_FIN) !== 0) stream.receive(NOTHING, true)
  }

  /** Go drops data of a stream that it has no reply for, so the reply goes first. */
  #reply(stream: SpdyStream): void {
    if (!this.#unreplied.delete(stream)) return
    this.#send(controlFrame(FrameType.SYN_REPLY, 0, stream.id, this.#encoder.encode({})))
    stream.replied()
  }

  /** All header blocks are one zlib stream, so each must be read. */
  #headersOf(stream: SpdyStream | undefined, body: Buffer, flags: number): void {
    this.#decoder.decode(body.subarray(4))
    stream?.replied()
    if ((flags & FLAG_FIN) !== 0) stream?.receive(NOTHING, true)
  }

  /** Answers to one's own pings have ids of one's own parity. */
  #pinged(body: Buffer): void {
    if (body.readUInt32BE(0) % 2 !== this.#nextId % 2) this.#answer(controlFrame(FrameType.PING, 0, body))
  }

  #leave(): void {
    this.#isClosing = true
    if (this.#streams.size === 0) this.#socket.end()
  }

  #configure(body: Buffer): void {
    for (let at = 4; at + 8 <= body.length; at += 8) {
      if (body.readUIntBE(at + 1, 3) !== INITIAL_WINDOW_SIZE_SETTING) continue
      const size = body.readUInt32BE(at + 4) & 0x7fffffff
      for (const stream of this.#streams.values()) stream.window.grow(size - this.#initialWindow)
      this.#initialWindow = size
    }
    this.#hasStreamWindows = true
  }

  #grow(streamId: number, bytes: number): void {
    if (streamId === CONNECTION) {
      this.#hasConnectionWindow = true
      this.#window.grow(bytes)
    } else {
      this.#hasStreamWindows = true
      this.#streams.get(streamId)?.window.grow(bytes)
    }
  }

  #room(stream: SpdyStream): number {
    const ofStream = this.#hasStreamWindows ? stream.window.left : Number.MAX_SAFE_INTEGER
    return this.#hasConnectionWindow ? Math.min(ofStream, this.#window.left) : ofStream
  }

  #whenRoom(stream: SpdyStream, callback: () => void): void {
    const isOwn = this.#hasStreamWindows && stream.window.left <= 0
    ;(isOwn ? stream.window : this.#window).whenRoom(callback)
  }

  #refill(streamId: number, bytes: number): void {
    const read = (this.#read.get(streamId) ?? 0) + bytes
    const isWide = this.#widened.has(streamId)
    const isDue = read >= (isWide ? REFILL_BYTES.later : REFILL_BYTES.first)
    this.#read.set(streamId, isDue ? 0 : read)
    if (!isDue) return
    this.#widened.add(streamId)
    const extra = isWide ? 0 : streamId === CONNECTION ? WIDER_BY.connection : WIDER_BY.stream
    this.#send(controlFrame(FrameType.WINDOW_UPDATE, 0, streamId, read + extra))
  }

  /** A peer that makes us answer and does not read is cut off: what waits for it would fill the memory. */
  #answer(frame: Buffer): void {
    if (!this.#send(frame) && ++this.#unreadAnswers > MAX_UNREAD_ANSWERS) this.#socket.destroy()
  }

  /** False if the connection takes no more at the moment. What is sent in one go leaves in one piece. */
  #send(...parts: readonly Buffer[]): boolean {
    const socket = this.#socket
    if (socket.destroyed || socket.writableEnded) return true
    if (!this.#isCorked) {
      this.#isCorked = true
      socket.cork()
      process.nextTick(() => {
        this.#isCorked = false
        socket.uncork()
      })
    }
    let isFlowing = true
    for (const part of parts) isFlowing = socket.write(part)
    return isFlowing
  }

  #failAll(): void {
    const reason = new Error('the connection is closed')
    for (const stream of [...this.#streams.values()]) stream.fail(reason)
    this.#window.wake()
    for (const callback of this.#drained.splice(0)) callback()
  }
}
