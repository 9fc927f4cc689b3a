import type { Node, Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import type { ServiceCIDR } from '../../api/generated/networking-v1.ts'
import type { Clock } from '../../base/clock.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { formatIP, parseIP } from '../../base/ip-address.ts'
import type { Logger } from '../../base/log.ts'
import type { Conntrack } from '../../linux/conntrack.ts'
import type { Linux } from '../../linux/linux.ts'
import type { NetworkNamespace } from '../../linux/network-namespace.ts'
import type { BackendFactory, ProxyMode, ProxyNode, ServiceProxyBackend } from '../backend.ts'
import type { ServicePortKey } from '../service-port.ts'
import type { ServiceTable } from '../service-table.ts'
import type { ReservedGroup } from '../table/reserved-addresses.ts'
import type { HealthCheckNodePorts } from './health-check-node-ports.ts'
import { nodeAddresses } from './node-facts.ts'
import type { ProxyHealth } from './proxy-health.ts'
import type { ProxyMetrics } from './proxy-metrics.ts'
import type { RefusedAddressReports } from './refused-addresses.ts'
import { endStaleFlows } from './stale-flows.ts'
import { SyncLoop } from './sync-loop.ts'
import { TriggerTimes } from './trigger-times.ts'

export interface RulesInEffectOptions {
  readonly mode: ProxyMode
  readonly backends: Readonly<Partial<Record<ProxyMode, BackendFactory>>>
  readonly linux: Linux
  readonly namespace?: NetworkNamespace
  readonly clock: Clock
  readonly log: Logger
  readonly table: ServiceTable
  readonly metrics: ProxyMetrics
  readonly health: ProxyHealth
  readonly nodePorts: HealthCheckNodePorts
  readonly reports: RefusedAddressReports
  /** Where the API server is reached, besides its own endpoints. */
  readonly apiServers?: readonly string[]
  readonly facts: ProxyNode
  /** Given by hand: the Node object does not change them. */
  readonly nodeIPs?: readonly string[]
  /** Given by hand: those of `facts` for every mode. */
  readonly nodePortAddresses?: ProxyNode['nodePortAddresses']
}

const EVERYWHERE: readonly string[] = ['0.0.0.0/0', '::/0']

/** The table, a backend, and what keeps the two together. */
export class RulesInEffect implements AsyncDisposable {
  readonly ready: Promise<void>
  readonly #options: RulesInEffectOptions
  readonly #loop: SyncLoop
  readonly #triggers: TriggerTimes
  #mode: ProxyMode
  #facts: ProxyNode
  #backend: ServiceProxyBackend | undefined
  readonly #retired: ServiceProxyBackend[] = []
  #drift: Disposable | undefined
  #conntrack: Conntrack | undefined
  #hasBegun = false
  /** Another mode, or other facts about the node: the next sync is by another backend. */
  #isOutdated = false
  #isReady: { resolve(): void; reject(error: Error): void } = { resolve() {}, reject() {} }
  /** Modes that may have left rules: all of them, when a process begins. */
  #toCleanUp: Set<ProxyMode>

  constructor(options: RulesInEffectOptions) {
    this.#options = options
    this.#mode = options.mode
    this.#facts = options.facts
    this.#toCleanUp = new Set(Object.keys(options.backends) as ProxyMode[])
    this.#triggers = new TriggerTimes(options.clock)
    const { clock, log } = options
    this.#loop = new SyncLoop({ clock, log, sync: (full) => this.#sync(full) })
    this.ready = new Promise((resolve, reject) => {
      this.#isReady = { resolve, reject }
    })
    this.ready.catch(() => {})
    this.#factoryOf(options.mode)
    this.reserve('the API server', [])
    this.reserve('a node', options.nodeIPs ?? [])
  }

  get mode(): ProxyMode {
    return this.#mode
  }

  /** Both Services and endpoints are known. */
  begin(): void {
    this.#hasBegun = true
    this.#request(true)
  }

  serviceChanged(old: Service | undefined, current: Service | undefined): void {
    this.#options.table.serviceChanged(old, current)
    this.#options.metrics.serviceChanges.increment()
    this.#request()
  }

  endpointSliceChanged(old: EndpointSlice | undefined, current: EndpointSlice | undefined): void {
    this.#options.table.endpointSliceChanged(old, current)
    this.#options.metrics.endpointChanges.increment()
    if (this.#hasBegun && current) this.#triggers.note(current)
    if (isOfApiServer(current ?? old)) this.reserve('the API server', addressesOf(current))
    this.#request()
  }

  /** No Service gets these as an external address. */
  reserve(group: ReservedGroup, addresses: readonly string[]): void {
    const all = group === 'the API server' ? [...addresses, ...(this.#options.apiServers ?? [])] : addresses
    this.#options.table.reserve(group, all.flatMap(canonical))
    this.#request()
  }

  nodeChanged(node: Node | undefined): void {
    if (!node) return
    this.#options.table.setNode({ ...(node.metadata.labels && { labels: node.metadata.labels }) })
    if (!this.#options.nodeIPs) this.#factsChanged({ ...this.#facts, nodeIPs: nodeAddresses(node) })
    this.#request()
  }

  serviceCIDRsChanged(objects: readonly ServiceCIDR[]): void {
    this.#factsChanged({ ...this.#facts, serviceCIDRs: objects.flatMap(({ spec }) => spec?.cidrs ?? []).sort() })
  }

  async setMode(mode: ProxyMode): Promise<void> {
    if (mode === this.#mode) return
    this.#factoryOf(mode)
    this.#toCleanUp.add(this.#mode)
    this.#mode = mode
    this.#isOutdated = true
    this.#request(true)
    await this.settled()
  }

  settled(): Promise<void> {
    return this.#hasBegun ? this.#loop.settled() : this.ready.then(() => this.#loop.settled())
  }

  /** Takes away the rules of all modes. */
  async cleanup(): Promise<void> {
    for (const mode of Object.keys(this.#options.backends) as ProxyMode[]) await this.#cleanUpMode(mode)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    this.#isReady.reject(new Error('the service proxy was stopped before its rules were in effect'))
    this.#retire()
    await this.#closeRetired()
    this.#conntrack?.[Symbol.dispose]()
    this.#conntrack = undefined
  }

  #request(full = false): void {
    if (!this.#hasBegun) return
    this.#options.health.queued()
    this.#options.metrics.lastQueued.set(this.#options.clock.now() / 1000)
    this.#loop.request(full)
  }

  /** Rules that depend on the node are another backend's rules. */
  #factsChanged(facts: ProxyNode): void {
    if (deepEqual(facts, this.#facts)) return
    this.#facts = facts
    this.#isOutdated = true
    this.#request(true)
  }

  /** The backend that was in use stays open until another one is in effect: traffic may go through its process. */
  #retire(): void {
    this.#isOutdated = false
    this.#drift?.[Symbol.dispose]()
    this.#drift = undefined
    if (this.#backend) this.#retired.push(this.#backend)
    this.#backend = undefined
  }

  async #closeRetired(): Promise<void> {
    for (const backend of this.#retired.splice(0)) await backend[Symbol.asyncDispose]()
  }

  #factoryOf(mode: ProxyMode): BackendFactory {
    const factory = this.#options.backends[mode]
    if (!factory)
      throw new Error(`there is no proxy mode ${mode}: one of ${Object.keys(this.#options.backends).join(', ')}`)
    return factory
  }

  #open(mode: ProxyMode): ServiceProxyBackend {
    const { linux, namespace, clock, log } = this.#options
    // As in kube-proxy, whose iptables mode is older than the wish to be careful.
    const isEverywhere = mode === 'iptables' && this.#options.nodePortAddresses === undefined
    const node = isEverywhere ? { ...this.#facts, nodePortAddresses: EVERYWHERE } : this.#facts
    return this.#factoryOf(mode)({ linux, ...(namespace && { namespace }), node, clock, log })
  }

  async #sync(full: boolean): Promise<void> {
    const { table, clock, metrics, health } = this.#options
    const start = clock.now()
    const changed = table.update()
    if (this.#isOutdated) this.#retire()
    const isNew = this.#backend === undefined
    this.#backend ??= this.#open(this.#mode)
    const backend = this.#backend
    const triggers = this.#triggers.take()
    try {
      if (isNew) this.#assertSupported(backend)
      await backend.apply(table, full || isNew ? 'all' : changed)
    } catch (error) {
      metrics.failures.increment()
      health.queued()
      this.#triggers.putBack(triggers)
      throw error
    }
    this.#drift ??= backend.onDrift(() => this.#loop.requestCompare())
    await this.#closeRetired()
    await this.#afterRules(full ? 'all' : changed)
    health.updated()
    const seconds = (clock.now() - start) / 1000
    metrics.sync.observe(seconds)
    metrics[full ? 'fullSync' : 'partialSync'].observe(seconds)
    metrics.lastSynced.set(clock.now() / 1000)
    this.#triggers.observe(triggers, metrics.programming)
    this.#isReady.resolve()
  }

  #assertSupported(backend: ServiceProxyBackend): void {
    const reason = backend.unsupported()
    if (reason !== undefined) throw new Error(`proxy mode ${backend.mode} does not work here: ${reason}`)
  }

  async #afterRules(changed: ReadonlySet<ServicePortKey> | 'all'): Promise<void> {
    const { table, nodePorts } = this.#options
    this.#options.reports.tell(table.refusedAddresses())
    this.#endStaleFlows(changed)
    await nodePorts.update(table.healthChecks())
    for (const mode of this.#toCleanUp) if (mode !== this.#mode) await this.#cleanUpMode(mode)
    this.#toCleanUp.clear()
  }

  #endStaleFlows(changed: ReadonlySet<ServicePortKey> | 'all'): void {
    const { table, linux, namespace, log, metrics } = this.#options
    try {
      const ports = changed === 'all' ? [...table.ports()] : [...changed].flatMap((key) => table.get(key) ?? [])
      const udp = ports.filter(({ protocol }) => protocol === 'UDP')
      if (udp.length === 0) return
      this.#conntrack ??= linux.openConntrack(namespace)
      metrics.endedFlows.increment(endStaleFlows(this.#conntrack, udp))
    } catch (error) {
      // The rules are right; a flow that goes astray ends by its timeout.
      log.warn('stale UDP flows could not be ended', { error })
    }
  }

  async #cleanUpMode(mode: ProxyMode): Promise<void> {
    const backend = this.#open(mode)
    try {
      if (backend.unsupported() === undefined) await backend.cleanup()
    } finally {
      await backend[Symbol.asyncDispose]()
    }
  }
}

/** The API server writes one slice of the Service `kubernetes`, with the addresses of all servers. */
const isOfApiServer = (slice: EndpointSlice | undefined) =>
  slice?.metadata.namespace === 'default' && slice.metadata.name === 'kubernetes'

const addressesOf = (slice: EndpointSlice | undefined) => (slice?.endpoints ?? []).flatMap(({ addresses }) => addresses)

function canonical(text: string): string[] {
  const ip = parseIP(text)
  return ip ? [formatIP(ip)] : []
}
