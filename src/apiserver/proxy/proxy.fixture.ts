import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { type Client, createClient } from '../../client/client.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { type ApiServer, startApiServer } from '../server.ts'

interface KeyPair {
  readonly key: string
  readonly cert: string
}

/** What a test needs of a cluster's certificates. */
export interface BenchCertificates {
  readonly ca: KeyPair
  readonly server: KeyPair
  readonly admin: KeyPair
  issueClient(commonName: string, organizations: readonly string[]): KeyPair
}

export interface ProxyAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** An API server whose nodes, pods and services are all one HTTP server of the test. */
export class ProxyBench implements AsyncDisposable {
  readonly client: Client
  /** What was dialed: `node node-1`, `10.0.0.1:80`. */
  readonly dialed: string[] = []
  readonly #certificates: BenchCertificates
  readonly #backend: Server
  readonly #port: number
  readonly #dispose: () => Promise<void>

  private constructor(parts: {
    certificates: BenchCertificates
    backend: Server
    server: ApiServer
    port: number
    dialed: string[]
    dispose: () => Promise<void>
  }) {
    this.#certificates = parts.certificates
    this.#backend = parts.backend
    this.#port = parts.port
    this.#dispose = parts.dispose
    this.dialed = parts.dialed
    this.client = createClient(parts.server.transport({ name: 'admin', groups: ['system:masters'] }, 'test'))
  }

  static async start(
    certificates: BenchCertificates,
    handler: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<ProxyBench> {
    const backend = createServer(handler)
    await once(backend.listen(0, '127.0.0.1'), 'listening')
    const dialed: string[] = []
    const dial = async (what: string) => {
      dialed.push(what)
      if (what.startsWith('10.9.')) throw new Error(`dial tcp ${what}: connect: connection refused`)
      return connect((backend.address() as AddressInfo).port, '127.0.0.1')
    }
    const store = await openMemoryStore()
    const server = await startApiServer({
      store,
      clock: systemClock,
      random: seededRandom(1),
      log: silentLogger,
      serviceCidrs: ['10.96.0.0/16'],
      disableAdmissionPlugins: ['ServiceAccount'],
      kubelets: {
        isSimulated: ({ metadata }) => metadata.name === 'simulated',
        dial: ({ metadata }) => dial(`node ${metadata.name}`),
      },
      dialEndpoint: ({ host, port }) => dial(`${host}:${port}`),
    })
    const tls = { ...certificates.server, clientCa: certificates.ca.cert }
    const { port } = await server.listen({ host: '127.0.0.1', port: 0, tls })
    const dispose = async () => {
      await server[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      backend.closeAllConnections()
      await new Promise((resolve) => backend.close(resolve))
    }
    return new ProxyBench({ certificates, backend, server, port, dialed, dispose })
  }

  /** TLS options by which a client shows who it is; an administrator without a name. */
  tlsOf(user?: string) {
    const { ca, admin, issueClient } = this.#certificates
    return { ca: ca.cert, ...(user ? issueClient(user, []) : admin) }
  }

  get address(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.#port }
  }

  get backend(): Server {
    return this.#backend
  }

  async fetch(path: string, options: FetchOptions = {}): Promise<ProxyAnswer> {
    const { method = 'GET', headers = {}, body, user } = options
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
    const sent = request({
      ...this.address,
      ...this.tlsOf(user),
      path,
      method,
      headers: { ...headers, ...length },
      agent: false,
    })
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispose()
  }
}

export interface FetchOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly user?: string
}
