import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import type { Duplex } from 'node:stream'
import { unlessAborted } from '../../base/abort.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { type HttpConnection, type HttpRequest, type HttpResponse, NotSentError } from './connection.ts'

/** As client-go: an idle connection is asked for a sign of life, so that a watch on a dead one ends. */
const PING_INTERVAL = 30_000
const PING_TIMEOUT = 15_000
/** Large lists should not wait for window updates. */
const STREAM_WINDOW = 1 << 20
const SESSION_WINDOW = 8 << 20

/**
 * HTTP/2 sessions to one server. One session carries everything until its streams run out (each watch holds one) or
 * the server says GOAWAY; then the next request opens another, while the streams of the old one finish.
 */
export function http2Connection(url: URL, dial: () => Promise<Duplex>, clock: Clock): HttpConnection {
  const sessions = new Set<Http2Session>()
  let opening: Promise<Http2Session> | undefined

  async function open(): Promise<Http2Session> {
    const socket = await dial()
    const session = new Http2Session(url, socket, clock, () => sessions.delete(session))
    sessions.add(session)
    await session.ready
    return session
  }
  function available(): Http2Session | undefined {
    for (const session of sessions) if (session.hasRoom) return session
    return undefined
  }
  return {
    async request(request) {
      for (;;) {
        // Choosing and taking a stream happen in one step, or two requests would take the last one.
        const known = available()
        if (known) return known.request(request)
        opening ??= open().finally(() => {
          opening = undefined
        })
        const opened = await unlessAborted(opening, request.signal)
        if (opened.failed) throw new NotSentError('the connection was closed')
      }
    },
    async [Symbol.asyncDispose]() {
      for (const open of sessions) open.destroy()
      sessions.clear()
    },
  }
}

class Http2Session {
  readonly #session: ClientHttp2Session
  readonly #clock: Clock
  #streams = 0
  #usable = true
  #isReady = false
  #ping: Timer | undefined
  readonly #onUnusable: () => void
  /** Resolves when the server has said how many streams it takes, or the session has failed. */
  readonly ready: Promise<void>

  constructor(url: URL, socket: Duplex, clock: Clock, onUnusable: () => void) {
    this.#clock = clock
    this.#onUnusable = onUnusable
    this.#session = connect(url, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    })
    this.#session.on('connect', () => this.#session.setLocalWindowSize(SESSION_WINDOW))
    this.#session.on('goaway', () => this.#retire())
    this.#session.on('close', () => this.#retire())
    // Every stream reports the failure itself; without a listener it would end the process.
    this.#session.on('error', () => this.#retire())
    this.ready = new Promise((resolve) => {
      this.#session.once('remoteSettings', () => {
        this.#isReady = true
        resolve()
      })
      this.#session.once('close', () => resolve())
    })
    this.#schedulePing()
  }

  get failed(): boolean {
    return !this.#usable
  }

  get hasRoom(): boolean {
    const limit = this.#session.remoteSettings?.maxConcurrentStreams ?? 1
    return this.#usable && this.#isReady && this.#streams < limit
  }

  request(request: HttpRequest): Promise<HttpResponse> {
    if (this.#session.destroyed || this.#session.closed) {
      this.#retire()
      return Promise.reject(new NotSentError('the connection was closed'))
    }
    const headers = { ...request.headers, ':method': request.method, ':path': request.path }
    const stream = this.#session.request(headers, { endStream: request.body === undefined, signal: request.signal })
    this.#streams++
    stream.once('close', () => this.#streamClosed())
    if (request.body !== undefined) stream.end(request.body)
    return answerOf(stream)
  }

  destroy(): void {
    this.#retire()
    this.#session.destroy()
  }

  #retire(): void {
    if (!this.#usable) return
    this.#usable = false
    this.#onUnusable()
    this.#streamClosed(0)
  }

  /** A retired session closes with its last stream. */
  #streamClosed(count = 1): void {
    this.#streams -= count
    if (this.#usable || this.#streams > 0) return
    this.#ping?.cancel()
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close()
  }

  #schedulePing(): void {
    this.#ping = this.#clock.after(PING_INTERVAL, () => {
      if (this.#session.destroyed) return
      this.#ping = this.#clock.after(PING_TIMEOUT, () => this.destroy()).unref()
      this.#session.ping((error) => {
        this.#ping?.cancel()
        if (!error) this.#schedulePing()
      })
    })
    this.#ping.unref()
  }
}

function answerOf(stream: ClientHttp2Stream): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    stream.once('response', (headers) => resolve({ status: Number(headers[':status']), headers, body: bodyOf(stream) }))
    stream.once('error', (error) => reject(isRefused(stream, error) ? new NotSentError(error.message) : error))
    stream.once('close', () => reject(new Error('the server closed the stream without an answer')))
  })
}

/** Node ends a stream quietly when its connection breaks; a reader must not take that for the end of the body. */
async function* bodyOf(stream: ClientHttp2Stream): AsyncGenerator<Buffer> {
  for await (const chunk of stream) yield chunk as Buffer
  if (stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted) throw new Error('the connection was cut')
}

/** RFC 9113 8.7: a refused stream has not been looked at by the server. */
function isRefused(stream: ClientHttp2Stream, error: Error): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || code === 'ERR_HTTP2_GOAWAY_SESSION'
}
