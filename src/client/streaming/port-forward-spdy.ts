import type { Duplex } from 'node:stream'
import { deadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { SpdyStream } from '../../base/spdy.ts'

export const PORT_FORWARD_PROTOCOL = 'portforward.k8s.io'

/** Opens a connection to a port of the pod. */
export type ConnectPort = (port: number) => Promise<Duplex>

interface Pair {
  readonly limit: Disposable
  data?: SpdyStream
  error?: SpdyStream
}

/** So long the second stream of a pair may take. */
const PAIR_TIMEOUT_MS = 30_000

/** Each forwarded connection is a pair of streams, one for its data and one for what goes wrong. */
export class PortForwardStreams {
  readonly #connect: ConnectPort
  readonly #clock: Clock
  readonly #pairs = new Map<string, Pair>()

  constructor(connect: ConnectPort, clock: Clock) {
    this.#connect = connect
    this.#clock = clock
  }

  /** Takes a stream that the client opened; false refuses it. */
  take(stream: SpdyStream): boolean {
    const { port, streamtype: type } = stream.headers
    if (!port || !isPort(Number(port)) || (type !== 'data' && type !== 'error')) return false
    const id = requestId(stream)
    const pair = this.#pairs.get(id) ?? this.#begin(id)
    if (pair[type]) return false
    pair[type] = stream
    const { data, error } = pair
    if (data && error) {
      this.#pairs.delete(id)
      pair.limit[Symbol.dispose]()
      void this.#forward(Number(port), data, error)
    }
    return true
  }

  #begin(id: string): Pair {
    const limit = deadline(this.#clock, PAIR_TIMEOUT_MS)
    const pair: Pair = { limit }
    this.#pairs.set(id, pair)
    limit.signal.addEventListener('abort', () => {
      this.#pairs.delete(id)
      pair.error?.end(`timeout waiting for the data stream of request ${id}`)
      pair.data?.destroy()
    })
    return pair
  }

  async #forward(port: number, data: SpdyStream, error: SpdyStream): Promise<void> {
    // The client has nothing to say here, but its end of the stream must be read to be seen.
    error.resume()
    try {
      await join(data, await this.#connect(port))
    } catch (failure) {
      if (!error.destroyed) error.write(failure instanceof Error ? failure.message : String(failure))
      data.resume()
      data.end()
    }
    error.end()
  }
}

/** Both ways until both have ended; rejects if the pod's side fails. */
function join(data: SpdyStream, backend: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    backend.on('error', reject)
    data.on('close', () => {
      if (!backend.writableFinished || !backend.readableEnded) backend.destroy()
      resolve()
    })
    backend.on('close', () => {
      if (!data.writableEnded) data.end()
      resolve()
    })
    data.pipe(backend)
    backend.pipe(data)
  })
}

/** Old clients number nothing: their error stream comes first, with the id before that of its data stream. */
function requestId(stream: SpdyStream): string {
  const { requestid, streamtype } = stream.headers
  return requestid ?? `#${streamtype === 'error' ? stream.id : stream.id - 2}`
}

export const isPort = (port: number) => Number.isInteger(port) && port > 0 && port < 65536
