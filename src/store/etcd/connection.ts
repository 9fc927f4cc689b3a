import type { ClientDuplexStream, Client as GrpcClient, Metadata, ServiceError } from '@grpc/grpc-js'
import type { Clock } from '../../base/clock.ts'
import type { MessageType } from '../../protobuf/message.ts'
import { UnavailableError } from '../store.ts'
import { WatchRequest, WatchResponse } from './messages.ts'

export interface EtcdTls {
  /** PEM. Without it the system's certificate authorities are trusted. */
  readonly ca?: string | Buffer
  /** PEM of the client's certificate and key. */
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  /** The name to expect in the server's certificate instead of the endpoint's. */
  readonly serverName?: string
}

export interface ConnectionOptions {
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls
  readonly clock: Clock
  /** Milliseconds after which a call is given up. */
  readonly timeout: number
}

export interface CallTypes<Q, A> {
  readonly request: MessageType<Q>
  readonly response: MessageType<A>
}

type Grpc = typeof import('@grpc/grpc-js')
export type WatchStream = ClientDuplexStream<Parameters<typeof WatchRequest.encode>[0], WatchResponse>

const UNAVAILABLE = 14
const DEADLINE_EXCEEDED = 4
const RETRY_DELAY = 50

/** Calls to a cluster of etcd members: one is used as long as it answers, then the next. */
export class Connection {
  readonly #clients: GrpcClient[]
  readonly #options: ConnectionOptions
  readonly #metadata: Metadata
  #current = 0

  constructor(grpc: Grpc, options: ConnectionOptions) {
    this.#options = options
    this.#clients = options.endpoints.map((endpoint) => makeClient(grpc, endpoint, options.tls))
    this.#metadata = new grpc.Metadata()
    // A member that has lost its leader refuses at once instead of serving what may be old.
    this.#metadata.set('hasleader', 'true')
  }

  /** Repeats on the next member what has certainly not happened; a read also when it may have. */
  async call<Q, A>(method: string, types: CallTypes<Q, A>, request: Q, repeatable: boolean): Promise<A> {
    const { clock, timeout } = this.#options
    const deadline = clock.now() + timeout
    // A member that hangs must leave time to ask another one.
    const patience = repeatable ? timeout / this.#clients.length : timeout
    for (;;) {
      const used = this.#current
      try {
        return await this.#callOnce(used, method, types, request, Math.min(deadline, clock.now() + patience))
      } catch (error) {
        const failure = error as ServiceError
        if (failure.code !== UNAVAILABLE && failure.code !== DEADLINE_EXCEEDED) throw error
        if (this.#current === used) this.useNext()
        const again = repeatable || neverArrived(failure)
        if (!again || clock.now() + RETRY_DELAY >= deadline) throw unavailable(failure)
      }
      await clock.sleep(RETRY_DELAY)
    }
  }

  /** Another member for whoever comes next. */
  useNext(): void {
    this.#current = (this.#current + 1) % this.#clients.length
  }

  watchStream(): WatchStream {
    return this.#clients[this.#current]!.makeBidiStreamRequest(
      '/etcdserverpb.Watch/Watch',
      WatchRequest.encode,
      WatchResponse.decode,
      this.#metadata,
      {},
    )
  }

  close(): void {
    for (const client of this.#clients) client.close()
  }

  #callOnce<Q, A>(member: number, method: string, types: CallTypes<Q, A>, request: Q, deadline: number): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#clients[member]!.makeUnaryRequest(
        method,
        types.request.encode,
        types.response.decode,
        request,
        this.#metadata,
        { deadline },
        (error, response) => (error ? reject(error) : resolve(response!)),
      )
    })
  }
}

/** The member was not reached, or refused before it did anything. */
function neverArrived(failure: ServiceError): boolean {
  return /No connection established|ECONNREFUSED|etcdserver: no leader|Name resolution failed/.test(failure.details)
}

function unavailable(failure: ServiceError): UnavailableError {
  return new UnavailableError(`etcd does not answer: ${failure.details}`, { cause: failure })
}

function makeClient(grpc: Grpc, endpoint: string, tls: EtcdTls | undefined): GrpcClient {
  const secure = tls !== undefined || endpoint.startsWith('https://')
  const bytes = (pem: string | Buffer | undefined) => (pem === undefined ? null : Buffer.from(pem))
  const credentials = secure
    ? grpc.credentials.createSsl(bytes(tls?.ca), bytes(tls?.key), bytes(tls?.cert))
    : grpc.credentials.createInsecure()
  return new grpc.Client(endpoint.replace(/^https?:\/\//, ''), credentials, {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2000,
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 3000,
    ...(tls?.serverName ? { 'grpc.ssl_target_name_override': tls.serverName } : {}),
  })
}
