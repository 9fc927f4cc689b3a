import type { TLSSocket } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import { Allowance } from './allowance.ts'
import { ConnectionWatch } from './connection-watch.ts'
import { wholeAnswer } from './data-frames.ts'
import * as h2 from './frames.ts'
import { HeaderBlocks, MAX_HEADER_LIST_BYTES } from './header-blocks.ts'
import { answerHeaders } from './header-encoder.ts'
import { Output } from './output.ts'
import { areTrailers, requestHead } from './request-head.ts'
import { Http2Stream } from './stream.ts'
import { UnfinishedRequests } from './unfinished-requests.ts'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Upstream's: more streams than this on one connection wait, or clients open another one. */
const MAX_CONCURRENT_STREAMS = 100
const DEFAULT_WINDOW = 65_535
const DEFAULT_TABLE_BYTES = 4096
const MAX_WINDOW = 2 ** 31 - 1
/** So much of one body, and of all bodies of a connection, may come before it is read. */
const STREAM_WINDOW = 1024 * 1024
const CONNECTION_WINDOW = 4 * STREAM_WINDOW

/**
 * What costs us work and asks for nothing: requests taken back before they are answered, pings, settings, empty frames.
 * Clients do that now and then; one that does nothing else is an attack.
 */
const IDLE_TALK = { burst: 1000, perSecond: 100 }

/** A client that is told of its error may take so long to read it. */
const FAREWELL_MS = 1000

const SHUTDOWN = { code: h2.NO_ERROR, message: 'the server stops' }

/** At the beginning of a header block: the table of headers has no room. */
const NO_TABLE = Buffer.from([0x20])
/** A body up to this size goes into one buffer with its head. */
const JOINED_BYTES = 16 * 1024

const GREETING = Buffer.concat([
  h2.settingsFrame([
    [h2.SETTINGS_MAX_CONCURRENT_STREAMS, MAX_CONCURRENT_STREAMS],
    [h2.SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW],
    [h2.SETTINGS_MAX_HEADER_LIST_SIZE, MAX_HEADER_LIST_BYTES],
  ]),
  h2.numbersFrame(h2.WINDOW_UPDATE, 0, CONNECTION_WINDOW - DEFAULT_WINDOW),
])
const PING = h2.frame(h2.PING, 0, 0, Buffer.alloc(8))
const SETTINGS_ACK = h2.frame(h2.SETTINGS, h2.ACK, 0, Buffer.alloc(0))

/** The server's side of an HTTP/2 connection (RFC 9113): reads frames, keeps the streams, shares out what may be sent. */
export class Http2Connection {
  readonly socket: TLSSocket
  readonly initialReceiveWindow = STREAM_WINDOW
  initialSendWindow = DEFAULT_WINDOW
  readonly #clock: Clock
  readonly #onRequest: (stream: Http2Stream) => void
  readonly #streams = new Map<number, Http2Stream>()
  /** Streams that have more to send than they may. */
  readonly #waiting = new Set<Http2Stream>()
  readonly #unfinished: UnfinishedRequests
  readonly #output: Output
  readonly #frames = new h2.FrameReader((type, flags, id, payload) => this.#frame(type, flags, id, payload))
  readonly #headers = new HeaderBlocks((id, fields, isLast) => this.#headersReceived(id, fields, isLast))
  readonly #idleTalk: Allowance
  #preface = Buffer.alloc(0)
  #hasSettings = false
  /** The client wants to keep fewer headers than usual, and to be told that we know it. */
  #hasSmallTable = false
  #isOver = false
  #isSendComing = false
  #lastId = 0
  #sendWindow = DEFAULT_WINDOW
  #receiveWindow = CONNECTION_WINDOW
  #consumed = 0
  #reads = 0
  readonly #watch = new ConnectionWatch()

  constructor(socket: TLSSocket, clock: Clock, onRequest: (stream: Http2Stream) => void) {
    this.socket = socket
    this.#clock = clock
    this.#onRequest = onRequest
    this.#idleTalk = new Allowance(IDLE_TALK.burst, IDLE_TALK.perSecond, clock)
    this.#unfinished = new UnfinishedRequests(clock, (id) => this.sendReset(id, h2.NO_ERROR))
    this.#output = new Output(socket, () => this.#sendWaiting())
    this.#output.push(GREETING)
    socket.on('data', (chunk) => this.#read(chunk))
    socket.on('close', () => this.#closeStreams())
  }

  // For streams:

  /** How much data may be sent now. */
  get sendRoom(): number {
    return Math.min(this.#sendWindow, this.#output.room)
  }

  sendHead(
    id: number,
    status: number,
    headers: Readonly<Record<string, string | number | string[]>>,
    body: Buffer | undefined,
    isLast: boolean,
  ): void {
    let block = answerHeaders(status, headers)
    if (this.#hasSmallTable) block = Buffer.concat([NO_TABLE, block])
    this.#hasSmallTable = false
    const { maxFrame } = this.#output
    if (body && body.length > 0 && body.length <= JOINED_BYTES && block.length <= maxFrame) {
      this.#sendWindow -= body.length
      this.#output.push(wholeAnswer(id, block, body))
      return
    }
    const hasBody = body !== undefined && body.length > 0
    this.#output.push(h2.headerFrames(block, id, isLast && !hasBody ? h2.END_STREAM : 0, maxFrame))
    if (hasBody) this.sendData(id, body, isLast)
  }

  sendData(id: number, bytes: Buffer, isLast: boolean, done?: (error?: Error) => void): void {
    this.#sendWindow -= bytes.length
    this.#output.pushData(id, bytes, isLast, done)
  }

  sendReset(id: number, code: number): void {
    this.#output.push(h2.numbersFrame(h2.RST_STREAM, id, code))
  }

  /** For an answer before the end of its request. */
  resetLater(id: number): void {
    this.#unfinished.add(id)
  }

  sendWindowUpdate(id: number, bytes: number): void {
    this.#output.push(h2.numbersFrame(h2.WINDOW_UPDATE, id, bytes))
  }

  consumed(bytes: number): void {
    this.#consumed += bytes
    if (this.#consumed < CONNECTION_WINDOW / 2) return
    this.sendWindowUpdate(0, this.#consumed)
    this.#receiveWindow += this.#consumed
    this.#consumed = 0
  }

  hasWaiting(stream: Http2Stream): void {
    this.#waiting.add(stream)
  }

  hasNothingWaiting(stream: Http2Stream): void {
    this.#waiting.delete(stream)
  }

  forget(stream: Http2Stream): void {
    this.#streams.delete(stream.id)
    this.#waiting.delete(stream)
  }

  /** Streams take turns until none of them may send more. */
  #sendWaiting(): void {
    let hasSent = this.#waiting.size > 0
    while (hasSent && this.#output.room > 0) {
      hasSent = false
      for (const stream of [...this.#waiting]) {
        if (!stream.sendWaiting()) continue
        hasSent = true
        // Whoever has more is the last to be asked again.
        if (this.#waiting.delete(stream)) this.#waiting.add(stream)
      }
    }
  }

  /** Once for all that comes in a turn: a client opens the windows of a stream and of its connection one by one. */
  #sendWaitingSoon(): void {
    if (this.#isSendComing) return
    this.#isSendComing = true
    setImmediate(() => {
      this.#isSendComing = false
      this.#sendWaiting()
    })
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return
    this.#reads++
    try {
      this.#frames.read(this.#preface.length < PREFACE.length ? this.#afterPreface(chunk) : chunk)
      if (this.#waiting.size > 0) this.#sendWaitingSoon()
    } catch (error) {
      if (!(error instanceof h2.ConnectionError)) throw error
      this.close(error)
    }
  }

  #afterPreface(chunk: Buffer): Buffer {
    const begun = this.#preface.length
    this.#preface = Buffer.concat([this.#preface, chunk.subarray(0, PREFACE.length - begun)])
    if (!this.#preface.equals(PREFACE.subarray(0, this.#preface.length)))
      throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'this is not HTTP/2')
    return chunk.subarray(this.#preface.length - begun)
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    if (this.#isOver) return
    if (!this.#hasSettings && (type !== h2.SETTINGS || flags & h2.ACK))
      throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'settings come first')
    if (this.#headers.isUnfinished && type !== h2.CONTINUATION)
      throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'unfinished headers')
    try {
      this.#handle(type, flags, id, payload)
    } catch (error) {
      if (!(error instanceof h2.StreamError)) throw error
      const stream = this.#streams.get(error.streamId)
      if (stream) stream.destroy(error.code)
      else this.sendReset(error.streamId, error.code)
      this.#chargeIdleTalk()
    }
  }

  #handle(type: number, flags: number, id: number, payload: Buffer): void {
    switch (type) {
      case h2.DATA:
        this.#data(flags, id, payload)
        break
      case h2.HEADERS:
        if (id % 2 === 0) throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'not a stream of a client')
        this.#headers.headers(flags, id, payload)
        break
      case h2.CONTINUATION:
        this.#headers.continuation(flags, id, payload)
        break
      case h2.RST_STREAM:
        this.#resetReceived(id, payload)
        break
      case h2.SETTINGS:
        this.#settings(flags, id, payload)
        break
      case h2.PING:
        this.#ping(flags, id, payload)
        break
      case h2.WINDOW_UPDATE:
        this.#windowUpdate(id, payload)
        break
      case h2.PUSH_PROMISE:
        throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'clients do not push')
      case h2.PRIORITY:
        this.#priority(id, payload)
        break
      case h2.GOAWAY:
        // Such a client asks for nothing new, and closes when it has its answers.
        break
      default:
        this.#chargeIdleTalk()
    }
  }

  #headersReceived(id: number, fields: string[], isLast: boolean): void {
    const open = this.#streams.get(id)
    if (open) {
      if (!isLast || !areTrailers(fields)) throw new h2.StreamError(id, h2.PROTOCOL_ERROR, 'malformed trailers')
      open.endReceived()
      return
    }
    // Trailers of a stream that we ended meanwhile.
    if (id <= this.#lastId) {
      if (isLast) this.#unfinished.finished(id)
      return
    }
    this.#lastId = id
    if (this.#streams.size >= MAX_CONCURRENT_STREAMS)
      throw new h2.StreamError(id, h2.REFUSED_STREAM, 'too many streams')
    const head = requestHead(fields)
    if (!head) throw new h2.StreamError(id, h2.PROTOCOL_ERROR, 'malformed headers')
    const stream = new Http2Stream(this, id, head, isLast)
    if (head.expect === '100-continue' && !isLast) this.sendHead(id, 100, {}, undefined, false)
    this.#streams.set(id, stream)
    this.#onRequest(stream)
  }

  #data(flags: number, id: number, payload: Buffer): void {
    const bytes = h2.withoutPadding(payload, flags)
    const isLast = (flags & h2.END_STREAM) !== 0
    this.#receiveWindow -= payload.length
    if (this.#receiveWindow < 0) throw new h2.ConnectionError(h2.FLOW_CONTROL_ERROR, 'more data than allowed')
    if (bytes.length === 0 && !isLast) this.#chargeIdleTalk()
    const stream = this.#known(id)
    if (stream) stream.dataReceived(bytes, payload.length, isLast)
    else this.consumed(payload.length)
    if (!stream && isLast) this.#unfinished.finished(id)
  }

  #resetReceived(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new h2.ConnectionError(h2.FRAME_SIZE_ERROR, 'a reset has four bytes')
    const stream = this.#known(id)
    this.#unfinished.finished(id)
    if (!stream) return
    if (!stream.headersSent) this.#chargeIdleTalk()
    stream.closed()
  }

  #windowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new h2.ConnectionError(h2.FRAME_SIZE_ERROR, 'a window update has four bytes')
    const bytes = payload.readUInt32BE(0) & 0x7fffffff
    if (id === 0) {
      if (bytes === 0) throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'an update by nothing')
      this.#sendWindow += bytes
      if (this.#sendWindow > MAX_WINDOW) throw new h2.ConnectionError(h2.FLOW_CONTROL_ERROR, 'window too large')
      return
    }
    const stream = this.#known(id)
    if (bytes === 0) throw new h2.StreamError(id, h2.PROTOCOL_ERROR, 'an update by nothing')
    stream?.windowGrew(bytes)
  }

  /** The stream of an id, unless it is over; of one that never was nothing may be said. */
  #known(id: number): Http2Stream | undefined {
    if (id === 0 || id > this.#lastId) throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'no such stream')
    return this.#streams.get(id)
  }

  /** Of no meaning any more (RFC 9113, 5.3.2). */
  #priority(id: number, payload: Buffer): void {
    if (id === 0) throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'priority of nothing')
    if (payload.length !== 5) throw new h2.StreamError(id, h2.FRAME_SIZE_ERROR, 'a priority has five bytes')
    this.#chargeIdleTalk()
  }

  #settings(flags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'settings of a stream')
    if (payload.length % 6 !== 0 || (flags & h2.ACK && payload.length > 0))
      throw new h2.ConnectionError(h2.FRAME_SIZE_ERROR, 'settings have six bytes each')
    if (flags & h2.ACK) return
    this.#hasSettings = true
    this.#chargeIdleTalk()
    for (let at = 0; at < payload.length; at += 6) this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2))
    this.#output.push(SETTINGS_ACK)
  }

  #set(key: number, value: number): void {
    if (key === h2.SETTINGS_HEADER_TABLE_SIZE) this.#hasSmallTable ||= value < DEFAULT_TABLE_BYTES
    if (key === h2.SETTINGS_INITIAL_WINDOW_SIZE) {
      if (value > MAX_WINDOW) throw new h2.ConnectionError(h2.FLOW_CONTROL_ERROR, 'window too large')
      const growth = value - this.initialSendWindow
      this.initialSendWindow = value
      for (const stream of this.#streams.values()) stream.windowGrew(growth)
    }
    if (key === h2.SETTINGS_MAX_FRAME_SIZE) {
      if (value < h2.MAX_FRAME_BYTES || value >= 2 ** 24)
        throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'no size of a frame')
      this.#output.maxFrame = value
    }
  }

  #ping(flags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'ping of a stream')
    if (payload.length !== 8) throw new h2.ConnectionError(h2.FRAME_SIZE_ERROR, 'a ping has eight bytes')
    if (flags & h2.ACK) return
    this.#chargeIdleTalk()
    this.#output.push(h2.frame(h2.PING, h2.ACK, 0, payload))
  }

  #chargeIdleTalk(): void {
    if (!this.#idleTalk.take()) throw new h2.ConnectionError(h2.ENHANCE_YOUR_CALM, 'too much idle talk')
  }

  /** Called every LOOK_MS: ends a connection that is not used, and streams that do not get on. */
  look(): void {
    if (this.#isOver) return
    for (const stream of [...this.#streams.values()]) stream.look()
    const verdict = this.#watch.look({
      streams: this.#streams.size,
      lastStream: this.#lastId,
      reads: this.#reads,
      isUnfinished: this.#headers.isUnfinished || !this.#hasSettings,
    })
    if (verdict === 'ping') this.#output.push(PING)
    else if (verdict !== 'keep') this.close({ code: h2.NO_ERROR, message: `the connection is ${verdict}` })
  }

  /** Tells the client to go, and why; what it still asks for is not answered. */
  close({ code, message }: Pick<h2.ConnectionError, 'code' | 'message'> = SHUTDOWN): void {
    this.#isOver = true
    const head = Buffer.allocUnsafe(8)
    head.writeUInt32BE(this.#lastId, 0)
    head.writeUInt32BE(code, 4)
    this.#output.push(h2.frame(h2.GOAWAY, 0, 0, Buffer.concat([head, Buffer.from(message)])))
    this.#closeStreams()
    // After what was just pushed has been written.
    process.nextTick(() => this.socket.end())
    this.#clock.after(FAREWELL_MS, () => this.socket.destroy()).unref()
  }

  #closeStreams(): void {
    this.#isOver = true
    this.#unfinished.clear()
    for (const stream of [...this.#streams.values()]) stream.closed()
  }
}
