import type { IncomingHttpHeaders } from 'node:http2'
import type { Readable, Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import type { Upgrade } from '../../client/remote-command.ts'

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
  /** How long the body will be: 0 without one, undefined if only its end tells. A body of another length breaks off. */
  readonly bodyLength: number | undefined
  /** Begins an answer that is handed on from elsewhere; who writes waits for the client. */
  relay(status: number, headers: ResponseHeaders): Writable
  /** Set if the client wants to go on with another protocol; taken over, the connection is the caller's. */
  readonly takeOver: (() => Upgrade) | undefined
}

export interface ResponseStream {
  /** False if the client is so slow that more than the limit waits for it. */
  write(chunk: Buffer): boolean
  end(): void
}

/** Adds what is sent with every answer. */
export function addHeaders(headers: ResponseHeaders, more: Readonly<Record<string, string>> | undefined): void {
  for (const name in more) headers[name] = more[name]!
}

export const partsOf = (body: Buffer | readonly Buffer[]): readonly Buffer[] =>
  Array.isArray(body) ? body : [body as Buffer]

export const lengthOf = (parts: readonly Buffer[]) => parts.reduce((sum, part) => sum + part.length, 0)

/** The body to hand on with a request, if it has one. What is not handed on is read and dropped. */
export function bodyToHandOn(exchange: Exchange): { stream: Readable; length: number | undefined } | undefined {
  if (exchange.bodyLength !== 0) return { stream: exchange.body, length: exchange.bodyLength }
  exchange.body.resume()
  return undefined
}
