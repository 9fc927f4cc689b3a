/** One HTTP request of a pull: redirects followed, credentials kept from strangers, and an end to every wait. */
import http from 'node:http'
import https from 'node:https'
import { type LinkedAbort, linkAbort } from '../../../base/abort.ts'
import type { Clock } from '../../../base/clock.ts'
import { imageError } from '../image-error.ts'

export interface HttpRequest {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Certificates must be vouched for; and then a redirect may not leave TLS. */
  readonly verify: boolean
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Milliseconds without a byte. */
  readonly stallTimeout: number
}

export interface HttpResponse {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  /** Ends with an error if it stalls. Must be read or thrown away. */
  readonly body: AsyncIterable<Buffer>
  discard(): void
}

/** The connection failed or stalled: another attempt may help. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
}

const MOST_REDIRECTS = 5
const REDIRECTS = new Set([301, 302, 303, 307, 308])

export async function request(options: HttpRequest): Promise<HttpResponse> {
  let { url, headers = {} } = options
  for (let redirects = 0; ; redirects++) {
    const response = await send(url, headers, options)
    const location = REDIRECTS.has(response.status) ? response.headers.location : undefined
    if (location === undefined) return response
    response.discard()
    if (redirects === MOST_REDIRECTS) throw imageError('Unavailable', `${url}: too many redirects`)
    const next = new URL(location, url)
    if (options.verify && next.protocol !== 'https:')
      throw imageError('FailedPrecondition', `${url} redirects to ${next.origin}, which has no TLS`)
    if (next.host !== new URL(url).host) headers = withoutCredentials(headers)
    url = next.href
  }
}

const withoutCredentials = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'))

function send(url: string, headers: Readonly<Record<string, string>>, options: HttpRequest): Promise<HttpResponse> {
  const { method = 'GET', body, verify, signal, clock, stallTimeout } = options
  const watch = new StallWatch(clock, stallTimeout, signal, url)
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      watch.end()
      reject(signal.aborted ? signal.reason : transportError(url, error))
    }
    try {
      const target = new URL(url)
      const common = { method, headers: { ...headers, 'user-agent': 'sampan' }, signal: watch.signal }
      const onResponse = (message: http.IncomingMessage) => resolve(responseOf(url, message, watch, signal))
      const sent =
        target.protocol === 'https:'
          ? https.request(target, { ...common, rejectUnauthorized: verify }, onResponse)
          : http.request(target, common, onResponse)
      sent.on('error', fail).end(body)
    } catch (error) {
      fail(error)
    }
  })
}

function responseOf(url: string, message: http.IncomingMessage, watch: StallWatch, signal: AbortSignal): HttpResponse {
  watch.touch()
  message.on('close', () => watch.end())
  const discard = () => {
    message.on('error', () => {})
    message.destroy()
  }
  return {
    status: message.statusCode ?? 0,
    headers: message.headers,
    body: chunksOf(url, message, watch, signal),
    discard,
  }
}

async function* chunksOf(
  url: string,
  message: http.IncomingMessage,
  watch: StallWatch,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    for await (const bytes of message) {
      // While the reader is busy nobody is late.
      watch.pause()
      yield bytes as Buffer
      watch.touch()
    }
    if (!message.complete) throw new TransportError(`${url}: the connection broke`)
  } catch (error) {
    throw signal.aborted ? signal.reason : transportError(url, error)
  } finally {
    watch.end()
  }
}

function transportError(url: string, error: unknown): TransportError {
  if (error instanceof TransportError) return error
  const cause = (error as { cause?: unknown }).cause
  const stalled = cause instanceof TransportError ? cause : undefined
  return stalled ?? new TransportError(`Get "${url}": ${(error as Error).message}`, { cause: error })
}

class StallWatch {
  readonly #clock: Clock
  readonly #timeout: number
  readonly #abort: LinkedAbort
  readonly #url: string
  #timer: { cancel(): void } | undefined

  constructor(clock: Clock, timeout: number, parent: AbortSignal, url: string) {
    this.#clock = clock
    this.#timeout = timeout
    this.#abort = linkAbort(parent)
    this.#url = url
    this.touch()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  touch(): void {
    this.pause()
    this.#timer = this.#clock.after(this.#timeout, () =>
      this.#abort.abort(new TransportError(`Get "${this.#url}": no answer for ${this.#timeout / 1000} seconds`)),
    )
  }

  pause(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  end(): void {
    this.pause()
    this.#abort[Symbol.dispose]()
  }
}

/** All of a body that may not be large. */
export async function readAll(response: HttpResponse, limit: number, what: string): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const bytes of response.body) {
    length += bytes.length
    if (length > limit) throw imageError('InvalidArgument', `${what} is larger than ${limit} bytes`)
    parts.push(bytes)
  }
  return Buffer.concat(parts)
}
