import { type IncomingMessage, ServerResponse } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http2'
import type { Readable, Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { bodyLengthOf, type Refusal } from '../../base/http-request.ts'
import type { Upgrade } from '../../client/remote-command.ts'
import type { BodyReader } from '../../http2/stream.ts'
import { addHeaders, type Exchange, lengthOf, partsOf, type ResponseHeaders, type ResponseStream } from './exchange.ts'
import { isLarge, writeLarge } from './large-body.ts'
import { closeSignal } from './outgoing.ts'
import { readBody } from './read-body.ts'
import { responseStream } from './response-stream.ts'

const KEEP_ALIVE_MS = 15_000

export class Http1Exchange implements Exchange {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly bodyLength: number | undefined
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #clock: Clock
  status = 0
  answerHeaders: Readonly<Record<string, string>> | undefined = undefined
  whenStarted: (() => void) | undefined = undefined
  #signal: AbortSignal | undefined

  readonly takeOver: (() => Upgrade) | undefined

  constructor(request: IncomingMessage, response: ServerResponse, clock: Clock, takeOver?: () => Upgrade) {
    this.#request = request
    this.#clock = clock
    this.#response = response
    this.takeOver = takeOver
    this.method = request.method!
    this.url = request.url!
    this.headers = request.headers
    this.bodyLength = bodyLengthOf(request)
    response.on('error', ignore)
  }

  get socket(): TLSSocket {
    return this.#request.socket as TLSSocket
  }

  get signal(): AbortSignal {
    this.#signal ??= closeSignal(this.#response)
    return this.#signal
  }

  readBody(clock: Clock): Promise<Buffer> {
    return readBody((reader) => readFrom(this.#request, reader), clock)
  }

  send(status: number, headers: ResponseHeaders, body: Buffer | readonly Buffer[]): void | Promise<void> {
    const response = this.#response
    this.status = status
    if (response.destroyed || response.headersSent) return
    const chunks = partsOf(body)
    const length = lengthOf(chunks)
    addHeaders(headers, this.answerHeaders)
    headers['content-length'] = length
    // An unread body would be taken for the next request.
    if (!this.#request.complete) headers.connection = 'close'
    response.writeHead(status, headers)
    if (isLarge(length)) return writeLarge(response, this.#request.socket, chunks, this.#clock)
    response.end(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length))
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
    // Only at the end it is known whether the body was read. The rest of it would be taken for the next request.
    this.#response.once('finish', () => {
      if (!this.#request.complete) this.socket.destroySoon()
    })
    this.open(status, headers)
    return this.#response
  }
}

/** The answer to a request for another protocol, which Node leaves to us. */
export function upgradeResponse(request: IncomingMessage, socket: TLSSocket): ServerResponse {
  const response = new ServerResponse(request)
  response.assignSocket(socket)
  response.shouldKeepAlive = false
  response.on('finish', () => socket.end())
  return response
}

/** A request for another protocol. As long as nobody takes it over it is answered like any other, and closed. */
export function upgradeExchange(request: IncomingMessage, socket: TLSSocket, head: Buffer, clock: Clock): Exchange {
  // Such connections may be silent for hours; one whose client vanished shall not stay for ever.
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  const response = upgradeResponse(request, socket)
  const exchange: Http1Exchange = new Http1Exchange(request, response, clock, () => {
    response.detachSocket(socket)
    exchange.status = 101
    return { request, socket, head }
  })
  return exchange
}

/** Answers a request that nothing is to read any further, and closes its connection. */
export function refuse(response: ServerResponse, { status, message }: Refusal): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(message)
}

/** Errors of a stream mean that the client is gone; `close` follows and is what we act on. */
function ignore(): void {}

function readFrom(request: IncomingMessage, reader: BodyReader): void {
  if (request.readableEnded) reader.end()
  else if (request.destroyed) reader.broken()
  request.on('data', (chunk: Buffer) => reader.data(chunk))
  request.on('end', () => reader.end())
  // However a client breaks off, this comes of it.
  request.on('close', () => reader.broken())
}
