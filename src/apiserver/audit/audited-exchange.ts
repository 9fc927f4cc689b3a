import type { Readable, Writable } from 'node:stream'
import type { Clock } from '../../base/clock.ts'
import type { Exchange, ResponseHeaders, ResponseStream } from '../http/exchange.ts'
import type { AuditedRequest } from './audited-request.ts'

/** An exchange that tells what goes through it. */
export class AuditedExchange implements Exchange {
  readonly #audit: AuditedRequest
  readonly #inner: Exchange
  whenStarted: (() => void) | undefined = undefined

  constructor(inner: Exchange, audit: AuditedRequest) {
    this.#inner = inner
    this.#audit = audit
    inner.answerHeaders = { 'audit-id': audit.id }
  }

  get method(): string {
    return this.#inner.method
  }

  get url(): string {
    return this.#inner.url
  }

  get headers(): Exchange['headers'] {
    return this.#inner.headers
  }

  get socket(): Exchange['socket'] {
    return this.#inner.socket
  }

  get signal(): AbortSignal {
    return this.#inner.signal
  }

  get status(): number {
    return this.#inner.status
  }

  get bodyLength(): number | undefined {
    return this.#inner.bodyLength
  }

  get body(): Readable {
    return this.#inner.body
  }

  get answerHeaders(): Exchange['answerHeaders'] {
    return this.#inner.answerHeaders
  }

  set answerHeaders(headers: Exchange['answerHeaders']) {
    this.#inner.answerHeaders = { ...headers, 'audit-id': this.#audit.id }
  }

  get takeOver(): Exchange['takeOver'] {
    const { takeOver } = this.#inner
    return (
      takeOver &&
      (() => {
        this.#audit.responseStarted(101)
        return takeOver()
      })
    )
  }

  async readBody(clock: Clock): Promise<Buffer> {
    const bytes = await this.#inner.readBody(clock)
    this.#audit.requestBody(bytes)
    return bytes
  }

  send(status: number, headers: ResponseHeaders, body: Buffer | readonly Buffer[]): void | Promise<void> {
    this.#audit.responseBody(status, headers, body)
    return this.#inner.send(status, headers, body)
  }

  open(status: number, headers: ResponseHeaders): ResponseStream {
    const stream = this.#inner.open(status, headers)
    this.#audit.responseStarted(status)
    return stream
  }

  relay(status: number, headers: ResponseHeaders): Writable {
    const out = this.#inner.relay(status, headers)
    this.#audit.responseStarted(status)
    return out
  }
}
