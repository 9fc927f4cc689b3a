import type { IncomingHttpHeaders } from 'node:http2'
import type { Readable, Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { AnswerStream, BodyStream } from '../../http2/node-streams.ts'
import type { Http2Stream } from '../../http2/stream.ts'
import { addHeaders, type Exchange, lengthOf, partsOf, type ResponseHeaders, type ResponseStream } from './exchange.ts'
import { isLarge, writeLarge } from './large-body.ts'
import { closeSignal } from './outgoing.ts'
import { readBody } from './read-body.ts'
import { responseStream } from './response-stream.ts'

/** A stream of HTTP/2 as a request and its answer. */
export class Http2Exchange implements Exchange {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly takeOver: undefined
  readonly #stream: Http2Stream
  readonly #clock: Clock
  status = 0
  answerHeaders: Readonly<Record<string, string>> | undefined = undefined
  whenStarted: (() => void) | undefined = undefined
  #signal: AbortSignal | undefined
  #body: BodyStream | undefined

  constructor(stream: Http2Stream, clock: Clock) {
    this.#stream = stream
    this.#clock = clock
    this.headers = stream.headers
    this.method = stream.headers[':method'] as string
    this.url = stream.headers[':path'] as string
  }

  get socket(): TLSSocket {
    return this.#stream.connection.socket
  }

  get signal(): AbortSignal {
    this.#signal ??= closeSignal(this.#stream)
    return this.#signal
  }

  readBody(clock: Clock): Promise<Buffer> {
    const stream = this.#stream
    return readBody((reader) => {
      stream.read({
        data(chunk) {
          stream.consumed(chunk.length)
          reader.data(chunk)
        },
        end: () => reader.end(),
        broken: () => reader.broken(),
      })
    }, clock)
  }

  send(status: number, headers: ResponseHeaders, body: Buffer | readonly Buffer[]): void | Promise<void> {
    const stream = this.#stream
    this.status = status
    if (stream.destroyed || stream.headersSent) return
    const parts = partsOf(body)
    const length = lengthOf(parts)
    headers['content-length'] = length
    this.#addHeaders(headers)
    if (isLarge(length)) {
      stream.respond(status, headers)
      return writeLarge(stream, stream.connection, parts, this.#clock)
    }
    stream.respond(status, headers, parts.length === 1 ? parts[0]! : Buffer.concat(parts, length))
  }

  open(status: number, headers: ResponseHeaders): ResponseStream {
    this.#begin(status, headers)
    return responseStream(this.#stream, this.#stream.connection)
  }

  get bodyLength(): number | undefined {
    return this.#stream.bodyLength
  }

  get body(): Readable {
    this.#body ??= new BodyStream(this.#stream)
    return this.#body
  }

  relay(status: number, headers: ResponseHeaders): Writable {
    this.#begin(status, headers)
    return new AnswerStream(this.#stream)
  }

  #begin(status: number, headers: ResponseHeaders): void {
    this.status = status
    this.#addHeaders(headers)
    this.#stream.respond(status, headers)
  }

  #addHeaders(headers: ResponseHeaders): void {
    addHeaders(headers, this.answerHeaders)
    headers.date ??= httpDate(this.#clock.now())
  }
}

let second = 0
let date = ''

/** Made once a second. */
function httpDate(now: number): string {
  const current = Math.floor(now / 1000)
  if (current !== second) {
    second = current
    date = new Date(current * 1000).toUTCString()
  }
  return date
}
