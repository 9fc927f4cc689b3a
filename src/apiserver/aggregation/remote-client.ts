import type { IncomingMessage, RequestOptions } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { APIServiceSpec } from '../../api/generated/apiregistration-v1.ts'
import { deadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { type OutgoingRequest, sendRequest } from '../proxy/send-request.ts'
import type { ResolveService, ServiceAddress } from '../webhook-client/call-webhook.ts'

/** The certificate by which this server shows that it speaks for users. */
export interface ProxyCertificate {
  readonly cert: string
  readonly key: string
}

export interface RemoteContext {
  readonly clock: Clock
  readonly resolve: ResolveService
  readonly proxyCertificate: () => Promise<ProxyCertificate | undefined>
}

export interface RemoteAnswer {
  readonly status: number
  readonly etag: string
  readonly text: string
}

/** Discovery and OpenAPI documents of one server are smaller. They are parsed in one piece, which holds up others. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** Doing these twice does no harm. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
const IDLE_MS = 90_000

/** Connections to one extension API server. They are kept, and made by what its APIService says. */
export class RemoteClient implements Disposable {
  readonly #context: RemoteContext
  readonly #spec: APIServiceSpec
  #agent: Promise<Agent> | undefined
  #isOver = false

  constructor(context: RemoteContext, spec: APIServiceSpec) {
    this.#context = context
    this.#spec = spec
  }

  /** The name its certificate must have. */
  get serverName(): string {
    const { name = '', namespace = '' } = this.#spec.service ?? {}
    return `${name}.${namespace}.svc`
  }

  get host(): string {
    return `${this.serverName}:${this.#spec.service?.port ?? 443}`
  }

  /** Hands a request on and resolves with the beginning of the answer. */
  async send(asked: OutgoingRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const [agent, address] = await Promise.all([this.#keptConnections(), this.#address()])
    const attempt = async () => {
      const open = (options: RequestOptions) => httpsRequest({ ...options, ...address, agent })
      return (await sendRequest(open, asked, signal)).response
    }
    try {
      return await attempt()
    } catch (error) {
      // The server may have closed a kept connection just now: then nothing has happened yet.
      const isStale = (error as { reused?: boolean }).reused && REPEATABLE.has(asked.method)
      if (!isStale || asked.body || signal.aborted || this.#isOver) throw error
      return attempt()
    }
  }

  /** A connection of its own, for protocols that take it over. */
  async dial(): Promise<Duplex> {
    const [tls, address] = await Promise.all([this.#tls(), this.#address()])
    return new Promise((resolve, reject) => {
      const socket = connectTls({ ...tls, ...address, ALPNProtocols: ['http/1.1'] })
      socket.once('secureConnect', () => resolve(socket))
      socket.once('error', reject)
    })
  }

  /** Asks a question of our own. */
  async get(path: string, headers: Record<string, string>, timeoutMs: number): Promise<RemoteAnswer> {
    using limit = deadline(this.#context.clock, timeoutMs)
    const response = await this.send({ method: 'GET', path, headers: { host: this.host, ...headers } }, limit.signal)
    const parts: Buffer[] = []
    let size = 0
    for await (const part of response) {
      size += (part as Buffer).length
      if (size > MAX_ANSWER_BYTES) throw new Error('the answer is too large')
      parts.push(part as Buffer)
    }
    return {
      status: response.statusCode ?? 0,
      etag: response.headers.etag ?? '',
      text: Buffer.concat(parts).toString(),
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#agent?.then((agent) => agent.destroy()).catch(() => {})
  }

  #keptConnections(): Promise<Agent> {
    this.#agent ??= this.#tls().then((tls) => new Agent({ ...tls, keepAlive: true, timeout: IDLE_MS }))
    return this.#agent
  }

  async #tls() {
    const { caBundle, insecureSkipTLSVerify = false } = this.#spec
    const pair = await this.#context.proxyCertificate()
    return {
      servername: this.serverName,
      rejectUnauthorized: !insecureSkipTLSVerify,
      ...(caBundle && { ca: Buffer.from(caBundle, 'base64').toString() }),
      ...(pair && { cert: pair.cert, key: pair.key }),
    }
  }

  async #address(): Promise<ServiceAddress> {
    const { name = '', namespace = '', port = 443 } = this.#spec.service ?? {}
    const found = await this.#context.resolve({ namespace, name, port })
    if (!found) throw new Error(`no endpoints available for service ${JSON.stringify(name)}`)
    return found
  }
}
