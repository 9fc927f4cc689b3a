import type { CallOptions, ClientReadableStream, Client as GrpcClient, ServiceError } from '@grpc/grpc-js'
import type { Clock } from '../../base/clock.ts'
import type { MessageType } from '../../protobuf/message.ts'
import { runtimeError } from './errors.ts'

type Grpc = typeof import('@grpc/grpc-js')

export interface Method<Q, A> {
  readonly path: string
  readonly request: MessageType<Q>
  readonly response: MessageType<A>
}

export interface CallSettings {
  /** Milliseconds; two minutes without, as kubelets have it. */
  readonly timeout?: number
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

const TIMEOUT = 120_000

/** Calls to the socket of a runtime. What it has lost is asked for again by whoever needs it. */
export class Connection {
  readonly #grpc: Grpc
  readonly #client: GrpcClient
  readonly #clock: Clock

  constructor(grpc: Grpc, socket: string, clock: Clock) {
    this.#grpc = grpc
    this.#clock = clock
    this.#client = new grpc.Client(`unix:${socket}`, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      'grpc.initial_reconnect_backoff_ms': 50,
      'grpc.min_reconnect_backoff_ms': 50,
      'grpc.max_reconnect_backoff_ms': 1000,
      // Sockets of several runtimes are told apart by their path alone.
      'grpc.use_local_subchannel_pool': 1,
    })
  }

  /** Rejects with a RuntimeError. */
  call<Q, A>(method: Method<Q, A>, request: Q, settings: CallSettings = {}): Promise<A> {
    const { path, request: sent, response: received } = method
    const { timeout = TIMEOUT, signal } = settings
    const options: CallOptions = timeout === Number.POSITIVE_INFINITY ? {} : { deadline: this.#clock.now() + timeout }
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: A) => {
        signal?.removeEventListener('abort', cancel)
        if (error) reject(runtimeError(error))
        else resolve(answer!)
      }
      const metadata = this.#metadata(settings)
      const call = this.#client.makeUnaryRequest(path, sent.encode, received.decode, request, metadata, options, done)
      const cancel = () => call.cancel()
      signal?.addEventListener('abort', cancel)
      if (signal?.aborted) cancel()
    })
  }

  /** Messages until the other side ends the stream; throws what `call` would. */
  async *stream<Q, A>(method: Method<Q, A>, request: Q, settings: CallSettings = {}): AsyncGenerator<A> {
    const { path, request: sent, response: received } = method
    const metadata = this.#metadata(settings)
    const stream: ClientReadableStream<A> = this.#client.makeServerStreamRequest(
      path,
      sent.encode,
      received.decode,
      request,
      metadata,
      {},
    )
    const cancel = () => stream.cancel()
    settings.signal?.addEventListener('abort', cancel)
    try {
      if (settings.signal?.aborted) return
      for await (const answer of stream) yield answer as A
    } catch (error) {
      if (!settings.signal?.aborted) throw runtimeError(error as ServiceError)
    } finally {
      settings.signal?.removeEventListener('abort', cancel)
      stream.cancel()
    }
  }

  close(): void {
    this.#client.close()
  }

  #metadata({ headers = {} }: CallSettings): InstanceType<Grpc['Metadata']> {
    const metadata = new this.#grpc.Metadata()
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
    return metadata
  }
}
