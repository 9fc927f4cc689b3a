import { type IncomingMessage, ServerResponse } from 'node:http'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Readable, Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { type ApiError, badRequest, requestTooLarge, timeout } from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import type { Upgrade } from '../../client/remote-command.ts'
import type { UserInfo } from '../identity.ts'
import { isLarge, writeLarge } from './large-body.ts'
import { PacedWriter } from './paced-writer.ts'

/** Larger bodies are refused: no object may be bigger than the store takes. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024

/** So that nobody holds a place among the requests in work for ever. */
const BODY_TIMEOUT_MS = 60_000
const KEEP_ALIVE_MS = 15_000

export type ResponseHeaders = Record<string, string | number | string[]>

/** One HTTP request and its answer, the same over HTTP/2 and HTTP/1.1. */
export interface Exchange {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly socket: TLSSocket
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal
  /** The status that was sent; 0 before that. */
  readonly status: number
  /** Sent with the answer, whatever it is. */
  answerHeaders: Readonly<Record<string, string>> | undefined
  /** Where an audit log is kept: what is to be written down of this request besides. */
  readonly audit?: AuditNotes
  /** To be called when all that is left to do is to wait for what others do. */
  whenStarted: (() => void) | undefined
  /** The whole body; a client that does not send it in time is refused. */
  readBody(clock: Clock): Promise<Buffer>
  /** The promise of a large body resolves when it is on its way, or nobody waits for it any more. */
  send(status: number, headers: ResponseHeaders, body: Buffer | readonly Buffer[]): void | Promise<void>
  /** Begins an answer of unknown length. */
  open(status: number, headers: ResponseHeaders): ResponseStream
  /** The body as it comes, for those who hand it on. */
  readonly body: Readable
  /** Begins an answer that is handed on from elsewhere; who writes waits for the client. */
  relay(status: number, headers: ResponseHeaders): Writable
  /** Set if the client wants to go on with another protocol; taken over, the connection is the caller's. */
  readonly takeOver: (() => Upgrade) | undefined
}

export interface AuditNotes {
  annotate(key: string, value: string): void
  /** The sender acts as somebody else. */
  actingAs(user: UserInfo, constraint: string | undefined): void
}

export interface ResponseStream {
  /** False if the client is so slow that more than the limit waits for it. */
  write(chunk: Buffer): boolean
  end(): void
}

/** A client that leaves more than this unread of what is new is cut off; it can come back and resume. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024

type Outgoing = ServerHttp2Stream | ServerResponse

function responseStream(out: Outgoing, connection: object): ResponseStream {
  let paced: PacedWriter | undefined
  let mostUnread = MAX_UNREAD_BYTES
  const unread = () => out.writableLength + (paced?.waitingBytes ?? 0)
  return {
    write(chunk) {
      if (out.destroyed || out.writableEnded) return true
      // The state at the beginning of a watch may be larger than the limit, and nobody is slow because of that.
      if (unread() === 0) mostUnread = MAX_UNREAD_BYTES + chunk.length
      if (isLarge(chunk.length)) paced ??= new PacedWriter(out, connection)
      // What comes after a large chunk waits for it.
      if (paced && (isLarge(chunk.length) || !paced.isIdle)) paced.write(chunk)
      else out.write(chunk)
      return unread() <= mostUnread
    },
    end() {
      if (out.destroyed || out.writableEnded) return
      if (paced && !paced.isIdle) paced.end()
      else out.end()
    },
  }
}

function readAll(source: ServerHttp2Stream | IncomingMessage, clock: Clock): Promise<Buffer> {
  return new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let isDone = false
    const finish = (failure?: () => ApiError) => {
      if (isDone) return
      isDone = true
      timer.cancel()
      if (failure) reject(failure())
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    }
    const timer = clock.after(BODY_TIMEOUT_MS, () => finish(() => timeout('the request body did not arrive in time')))
    timer.unref()
    // An empty body that came in a frame of its own has ended already, and says so only once.
    if (source.readableEnded) return finish()
    if (source.destroyed) return finish(() => badRequest('the request was aborted'))
    source.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (isDone) return
      if (size <= MAX_BODY_BYTES) chunks.push(chunk)
      else finish(() => requestTooLarge(`limit is ${MAX_BODY_BYTES}`))
    })
    source.on('end', () => finish())
    // However a client breaks off, this comes of it.
    source.on('close', () => finish(() => badRequest('the request was aborted')))
  })
}

const parts = (body: Buffer | readonly Buffer[]): readonly Buffer[] => (Array.isArray(body) ? body : [body as Buffer])
const lengthOf = (chunks: readonly Buffer[]) => chunks.reduce((sum, chunk) => sum + chunk.length, 0)

/** All of it at once. */
function writeAll(out: Outgoing, chunks: readonly Buffer[]): void {
  const last = chunks.length - 1
  if (last > 0) out.cork()
  for (let i = 0; i < last; i++) out.write(chunks[i])
  if (last >= 0) out.end(chunks[last])
  else out.end()
}

function addHeaders(headers: ResponseHeaders, more: Readonly<Record<string, string>> | undefined): void {
  for (const name in more) headers[name] = more[name]!
}

export class Http2Exchange implements Exchange {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly #stream: ServerHttp2Stream
  readonly #clock: Clock
  status = 0
  answerHeaders: Readonly<Record<string, string>> | undefined = undefined
  whenStarted: (() => void) | undefined = undefined
  #gone: AbortController | undefined

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, clock: Clock) {
    this.#stream = stream
    this.#clock = clock
    this.headers = headers
    this.method = headers[':method'] as string
    this.url = headers[':path'] as string
    stream.on('error', ignore)
  }

  get socket(): TLSSocket {
    return this.#stream.session!.socket as TLSSocket
  }

  get signal(): AbortSignal {
    if (!this.#gone) {
      const gone = new AbortController()
      this.#gone = gone
      if (this.#stream.destroyed) gone.abort()
      else this.#stream.on('close', () => gone.abort())
    }
    return this.#gone.signal
  }

  readBody(clock: Clock): Promise<Buffer> {
    return readAll(this.#stream, clock)
  }

  send(status: number, headers: ResponseHeaders, body: Buffer | readonly Buffer[]): void | Promise<void> {
    const stream = this.#stream
    this.status = status
    if (stream.destroyed || stream.headersSent) return
    const chunks = parts(body)
    const length = lengthOf(chunks)
    addHeaders(headers, this.answerHeaders)
    headers[':status'] = status
    headers['content-length'] = length
    stream.respond(headers)
    if (isLarge(length) && stream.session) return writeLarge(stream, stream.session, chunks, this.#clock)
    writeAll(stream, chunks)
  }

  open(status: number, headers: ResponseHeaders): ResponseStream {
    this.status = status
    addHeaders(headers, this.answerHeaders)
    headers[':status'] = status
    if (!this.#stream.destroyed) this.#stream.respond(headers)
    return responseStream(this.#stream, this.#stream.session ?? this.#stream)
  }

  get body(): Readable {
    return this.#stream
  }

  relay(status: number, headers: ResponseHeaders): Writable {
    this.open(status, headers)
    return this.#stream
  }

  readonly takeOver: undefined
}

export class Http1Exchange implements Exchange {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #clock: Clock
  status = 0
  answerHeaders: Readonly<Record<string, string>> | undefined = undefined
  whenStarted: (() => void) | undefined = undefined
  #gone: AbortController | undefined

  readonly takeOver: (() => Upgrade) | undefined

  constructor(request: IncomingMessage, response: ServerResponse, clock: Clock, takeOver?: () => Upgrade) {
    this.#request = request
    this.#clock = clock
    this.#response = response
    this.takeOver = takeOver
    this.method = request.method!
    this.url = request.url!
    this.headers = request.headers
    response.on('error', ignore)
  }

  get socket(): TLSSocket {
    return this.#request.socket as TLSSocket
  }

  get signal(): AbortSignal {
    if (!this.#gone) {
      const gone = new AbortController()
      this.#gone = gone
      if (this.#response.destroyed) gone.abort()
      else this.#response.on('close', () => gone.abort())
    }
    return this.#gone.signal
  }

  readBody(clock: Clock): Promise<Buffer> {
    return readAll(this.#request, clock)
  }

  send(status: number, headers: ResponseHeaders, body: Buffer | readonly Buffer[]): void | Promise<void> {
    const response = this.#response
    this.status = status
    if (response.destroyed || response.headersSent) return
    const chunks = parts(body)
    const length = lengthOf(chunks)
    addHeaders(headers, this.answerHeaders)
    headers['content-length'] = length
    // An unread body would be taken for the next request.
    if (!this.#request.complete) headers.connection = 'close'
    response.writeHead(status, headers)
    if (isLarge(length)) return writeLarge(response, this.#request.socket, chunks, this.#clock)
    writeAll(response, chunks)
  }

  open(status: number, headers: ResponseHeaders): ResponseStream {
    this.status = status
    addHeaders(headers, this.answerHeaders)
    this.#response.writeHead(status, headers)
    this.#response.flushHeaders()
    return responseStream(this.#response, this.#request.socket)
  }

  get body(): Readable {
    return this.#request
  }

  relay(status: number, headers: ResponseHeaders): Writable {
    this.open(status, headers)
    return this.#response
  }
}

/** A request for another protocol. As long as nobody takes it over it is answered like any other, and closed. */
export function upgradeExchange(request: IncomingMessage, socket: TLSSocket, head: Buffer, clock: Clock): Exchange {
  // Such connections may be silent for hours; one whose client vanished shall not stay for ever.
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  const response = new ServerResponse(request)
  response.assignSocket(socket)
  response.shouldKeepAlive = false
  response.on('finish', () => socket.end())
  const exchange: Http1Exchange = new Http1Exchange(request, response, clock, () => {
    response.detachSocket(socket)
    exchange.status = 101
    return { request, socket, head }
  })
  return exchange
}

/** Errors of a stream mean that the client is gone; `close` follows and is what we act on. */
function ignore(): void {}
