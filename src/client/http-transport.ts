import { ApiError, type Status, serviceUnavailable, timeout } from '../api/meta/api-error.ts'
import { DeadlineError, deadline } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { type HttpRequest, type HttpResponse, NotSentError, readAll } from './http/connection.ts'
import { negotiatedConnection } from './http/dial.ts'
import { LineSplitter } from './http/line-splitter.ts'
import { resourcePath } from './resource-path.ts'
import type { ApiAnswer, ApiCall, CallVerb, Transport, WatchCall, WatchEvent } from './transport.ts'

export interface HttpTransportOptions {
  /** `https://127.0.0.1:6443` */
  readonly server: string
  readonly clock: Clock
  /** PEM of the authorities to trust; the system's when absent. */
  readonly ca?: string
  /** PEM of a client certificate and its key. */
  readonly cert?: string
  readonly key?: string
  /** A bearer token; asked for before each request, so that it can change. */
  readonly token?: () => string | undefined
  /** Trust any server. */
  readonly insecure?: boolean
  /** The name to expect in the server's certificate, where it differs from the URL. */
  readonly serverName?: string
  readonly userAgent?: string
  /** Milliseconds a call may take; watches are not bounded. */
  readonly timeout?: number
}

/** A request that is not about one resource: discovery, `/version`, tables, logs. */
export interface RawRequest {
  readonly method?: string
  readonly path: string
  readonly accept?: string
  readonly contentType?: string
  readonly body?: string
  readonly signal?: AbortSignal
}

export interface HttpTransport extends Transport {
  /** The body of any path; failures are thrown as `ApiError`. */
  raw(request: RawRequest): Promise<string>
  /** The lines of any path as they come: a watch in another form, or a log. */
  rawLines(request: RawRequest & { readonly signal: AbortSignal }): AsyncIterable<readonly string[]>
}

const METHODS: Readonly<Record<CallVerb, string>> = {
  get: 'GET',
  list: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
}
const JSON_TYPE = 'application/json'
const DEFAULT_TIMEOUT = 60_000
/** As client-go: a server that says when to come back is asked this many times. */
const MAX_RETRIES = 10

/** Reaches an API server by HTTP/2 over TLS, or by HTTP/1.1 where the server speaks nothing else. */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  return new NegotiatedTransport(options)
}

class NegotiatedTransport implements HttpTransport {
  readonly #options: HttpTransportOptions
  readonly #clock: Clock
  readonly #connection

  constructor(options: HttpTransportOptions) {
    this.#options = options
    this.#clock = options.clock
    const { ca, cert, key } = options
    const tls = {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(options.serverName !== undefined && { servername: options.serverName }),
      ...(options.insecure && { rejectUnauthorized: false }),
    }
    this.#connection = negotiatedConnection({ url: new URL(options.server), tls }, options.clock)
  }

  async call(call: ApiCall): Promise<ApiAnswer> {
    const request: HttpRequest = {
      method: METHODS[call.verb],
      path: resourcePath(call),
      headers: this.#headers(JSON_TYPE, call.body === undefined ? undefined : (call.patchType ?? JSON_TYPE)),
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    }
    return JSON.parse(await this.#exchange(request, call.signal)) as ApiAnswer
  }

  raw(request: RawRequest): Promise<string> {
    return this.#exchange(this.#rawRequest(request), request.signal)
  }

  async *watch(call: WatchCall): AsyncIterable<readonly WatchEvent[]> {
    const path = resourcePath({ ...call, query: { ...call.query, watch: 'true' } })
    for await (const lines of this.rawLines({ path, signal: call.signal })) {
      const events = lines.map((line) => JSON.parse(line) as WatchEvent)
      const failed = events.findIndex((event) => event.type === 'ERROR')
      if (failed < 0) {
        yield events
        continue
      }
      if (failed > 0) yield events.slice(0, failed)
      throw ApiError.fromStatus(events[failed]!.object as Status)
    }
  }

  async *rawLines(request: RawRequest & { readonly signal: AbortSignal }): AsyncIterable<readonly string[]> {
    const { signal } = request
    if (signal.aborted) return
    const splitter = new LineSplitter()
    try {
      const response = await this.#send({ ...this.#rawRequest(request), signal })
      if (response.status >= 400) throw await errorOf(response)
      for await (const chunk of response.body) {
        const lines = splitter.push(chunk)
        if (lines.length > 0) yield lines
      }
    } catch (error) {
      if (signal.aborted) return
      throw error instanceof ApiError ? error : this.#unreachable(error)
    }
    if (splitter.hasPartial && !signal.aborted) throw serviceUnavailable('the stream ended in the middle of a line')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]()
  }

  /** One request and its whole answer, tried again as long as the server asks for patience. */
  async #exchange(request: HttpRequest, signal: AbortSignal | undefined): Promise<string> {
    const limit = deadline(this.#clock, this.#options.timeout ?? DEFAULT_TIMEOUT, signal)
    try {
      for (let attempt = 0; ; attempt++) {
        const response = await this.#send({ ...request, signal: limit.signal })
        const body = (await readAll(response.body)).toString('utf8')
        const patience = retryAfter(response)
        if (patience === undefined || attempt >= MAX_RETRIES) {
          if (response.status >= 400) throw statusError(response.status, body)
          return body
        }
        await this.#clock.sleep(patience, limit.signal)
      }
    } catch (error) {
      if (error instanceof ApiError) throw error
      if (signal?.aborted) throw signal.reason
      if (limit.signal.reason instanceof DeadlineError) throw timeout(`${request.method} ${request.path} took too long`)
      throw this.#unreachable(error)
    } finally {
      limit[Symbol.dispose]()
    }
  }

  async #send(request: HttpRequest): Promise<HttpResponse> {
    try {
      return await this.#connection.request(request)
    } catch (error) {
      if (!(error instanceof NotSentError)) throw error
      return this.#connection.request(request)
    }
  }

  #rawRequest(request: RawRequest): HttpRequest {
    return {
      method: request.method ?? 'GET',
      path: request.path,
      headers: this.#headers(request.accept ?? JSON_TYPE, request.contentType),
      ...(request.body !== undefined && { body: request.body }),
    }
  }

  #headers(accept: string, contentType: string | undefined): Record<string, string> {
    const token = this.#options.token?.()
    return {
      accept,
      'user-agent': this.#options.userAgent ?? 'sampan',
      ...(contentType !== undefined && { 'content-type': contentType }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
  }

  #unreachable(cause: unknown): ApiError {
    const error = serviceUnavailable(`${this.#options.server} cannot be reached: ${describe(cause)}`)
    error.cause = cause
    return error
  }
}

/** A connection to `localhost` that fails on each address has an empty message and the causes inside. */
function describe(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0) return describe(cause.errors[0])
  return cause instanceof Error ? cause.message || cause.name : String(cause)
}

/** Milliseconds, if the server wants the request again. */
function retryAfter(response: HttpResponse): number | undefined {
  if (response.status !== 429 && response.status < 500) return undefined
  const seconds = Number(response.headers['retry-after'])
  return Number.isInteger(seconds) && seconds > 0 ? seconds * 1000 : undefined
}

async function errorOf(response: HttpResponse): Promise<ApiError> {
  return statusError(response.status, (await readAll(response.body)).toString('utf8'))
}

/** The Status in the body, or one made of what a server or proxy that knows no Status said. */
function statusError(code: number, body: string): ApiError {
  try {
    const status = JSON.parse(body) as Status
    if (status.kind === 'Status') return ApiError.fromStatus({ ...status, code: status.code ?? code })
  } catch {
    // Not JSON: shown as it is.
  }
  return new ApiError(code, REASONS[code] ?? 'Unknown', body.trim() || `the server answered ${code}`)
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}
