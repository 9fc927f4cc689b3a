/** A service proxy as a node runs it, on a network of the packet-flow tables, with an API server of its own. */
import type { Service } from '../../src/api/generated/core-v1.ts'
import type { EndpointSlice } from '../../src/api/generated/discovery-v1.ts'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpoint-slice.ts'
import { type ApiServer, startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { seededRandom } from '../../src/base/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import type { Transport } from '../../src/client/transport.ts'
import {
  addressOf,
  POD_CIDRS,
  SERVICE_CIDRS,
  TARGET_PORT,
  THIS_NODE,
} from '../../src/service-proxy/packet-flow-objects.contract.ts'
import {
  type ServiceProxy,
  type ServiceProxyOptions,
  startServiceProxy,
} from '../../src/service-proxy/service-proxy.ts'
import { openMemoryStore } from '../../src/store/embedded.ts'
import type { Store } from '../../src/store/store.ts'
import type { FlowNetwork } from './flow-network.ts'
import { ask } from './flow-sockets.ts'
import { modeOf, type ProxyVariant } from './proxy-variants.ts'

const PATIENCE_MS = 5000

export class RunningProxies implements AsyncDisposable {
  readonly network: FlowNetwork
  readonly client: Client
  /** To the API server that there is now; without one, calls fail and watches end. */
  readonly transport: Transport
  readonly #store: Store
  #server: ApiServer | undefined
  readonly #proxies = new Set<ServiceProxy>()

  private constructor(network: FlowNetwork, store: Store) {
    this.network = network
    this.#store = store
    this.transport = {
      call: async (call) => this.#current().call(call),
      watch: (call) => this.#current().watch(call),
      [Symbol.asyncDispose]: async () => {},
    }
    this.client = createClient(this.transport)
  }

  static async start(network: FlowNetwork): Promise<RunningProxies> {
    const running = new RunningProxies(network, await openMemoryStore())
    await running.#startServer()
    return running
  }

  /** The API server is gone for as long as the work takes. */
  async withoutServer(work: () => Promise<unknown>): Promise<void> {
    const server = this.#server
    this.#server = undefined
    await server?.[Symbol.asyncDispose]()
    await work()
    await this.#startServer()
  }

  async #startServer(): Promise<void> {
    const common = { clock: systemClock, random: seededRandom(1), log: silentLogger }
    this.#server = await startApiServer({ store: this.#store, ...common, serviceCidrs: [SERVICE_CIDRS.IPv4] })
  }

  #current(): Transport {
    if (!this.#server) throw new Error('connection refused')
    return this.#server.transport({ name: 'admin', groups: ['system:masters'] })
  }

  async startProxy(variant: ProxyVariant, options: Partial<ServiceProxyOptions> = {}): Promise<ServiceProxy> {
    const proxy = await startServiceProxy({
      ...{ transport: this.transport, nodeName: THIS_NODE, ...modeOf(variant), ...this.network.node },
      ...{ clock: systemClock, random: seededRandom(2), log: silentLogger, healthPort: 'none' },
      localDetector: { by: 'cidr', cidrs: [POD_CIDRS.IPv4] },
      nodeIPs: [addressOf('N', 'IPv4')],
      ...options,
    })
    this.#proxies.add(proxy)
    await proxy.ready
    return proxy
  }

  /** Its process ends; its rules stay. */
  async stopProxy(proxy: ServiceProxy): Promise<void> {
    this.#proxies.delete(proxy)
    await proxy[Symbol.asyncDispose]()
  }

  readonly services = () => this.client.resource(serviceKind).namespace('default')
  readonly slices = () => this.client.resource(endpointSliceKind).namespace('default')

  /** The Service `web` with these endpoints, by their names in the tables; its cluster IP. */
  async createService(names: readonly string[], spec: Service['spec'] = {}): Promise<string> {
    const ports = ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 80 }))
    const metadata = { name: 'web', namespace: 'default' }
    const made = await this.services().create({ metadata, spec: { ports, ...spec } })
    await this.slices().create(sliceOf(names))
    return made.spec!.clusterIP!
  }

  setEndpoints(names: readonly string[]): Promise<unknown> {
    return this.slices().update(sliceOf(names))
  }

  /** Who answers a pod, or how it ends. */
  async ask(
    ip: string,
    { port = 80, from = 'P', source = addressOf(from, 'IPv4'), patienceMs = PATIENCE_MS } = {},
  ): Promise<string> {
    const target = { source, ip, port, protocol: 'TCP' } as const
    const answer = await ask(this.network.place(from), target, patienceMs)
    return typeof answer === 'string' ? answer : answer.name
  }

  /** All who answer, and how others end, until the work is done and a little longer. */
  async answersDuring(ip: string, work: Promise<unknown>): Promise<string[]> {
    const answers = new Set<string>()
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    while (!isDone) answers.add(await this.ask(ip))
    await done
    for (let i = 0; i < 20; i++) answers.add(await this.ask(ip))
    return [...answers].sort()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const proxy of this.#proxies) await proxy.cleanup()
    await this.#server?.[Symbol.asyncDispose]()
    await this.#store[Symbol.asyncDispose]()
  }
}

const nodeNameOf = (name: string) => (name.startsWith('L') ? THIS_NODE : 'there')

function sliceOf(names: readonly string[]): EndpointSlice {
  return {
    metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: TARGET_PORT })),
    endpoints: names.map((name) => ({
      addresses: [name.includes('.') ? name : addressOf(name, 'IPv4')],
      nodeName: nodeNameOf(name),
      conditions: { ready: true },
    })),
  }
}
