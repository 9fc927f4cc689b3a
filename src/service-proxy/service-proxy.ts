/** The service proxy of one node: from the API's Services and EndpointSlices to rules in effect. */
import { availableParallelism } from 'node:os'
import type { Node, Service } from '../api/generated/core-v1.ts'
import type { EndpointSlice } from '../api/generated/discovery-v1.ts'
import type { ServiceCIDR } from '../api/generated/networking-v1.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { serviceKind } from '../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../api/kinds/discovery/endpoint-slice.ts'
import { serviceCIDRKind } from '../api/kinds/networking/service-cidr.ts'
import type { Clock } from '../base/clock.ts'
import { deepEqual } from '../base/deep-equal.ts'
import type { Logger } from '../base/log.ts'
import { MetricsRegistry } from '../base/metrics.ts'
import type { Random } from '../base/random.ts'
import { createClient } from '../client/client.ts'
import { createEventRecorder } from '../client/events.ts'
import { startInformer } from '../client/informer.ts'
import { createInformerFactory } from '../client/informer-factory.ts'
import type { Transport } from '../client/transport.ts'
import type { Linux } from '../linux/linux.ts'
import type { NetworkNamespace } from '../linux/network-namespace.ts'
import type { BackendFactory, LocalTrafficDetector, ProxyMode } from './backend.ts'
import { BACKENDS } from './backends.ts'
import { DEFAULT_CONNTRACK_LIMITS, raiseConntrackLimits } from './proxy/conntrack-limits.ts'
import { HealthCheckNodePorts } from './proxy/health-check-node-ports.ts'
import { startHealthServer } from './proxy/health-server.ts'
import type { HttpListener } from './proxy/http-listener.ts'
import { startMetricsServer } from './proxy/metrics-server.ts'
import { isEligible, nodeAddresses, slimNode } from './proxy/node-facts.ts'
import { ProxyHealth } from './proxy/proxy-health.ts'
import { proxyMetrics } from './proxy/proxy-metrics.ts'
import { RefusedAddressReports } from './proxy/refused-addresses.ts'
import { RulesInEffect } from './proxy/rules-in-effect.ts'
import { ServiceTable } from './service-table.ts'
import { ReservedAddresses } from './table/reserved-addresses.ts'

export interface ServiceProxyOptions {
  readonly transport: Transport
  readonly nodeName: string
  readonly mode: ProxyMode
  readonly linux: Linux
  /** Where the rules go; that of the process unless given. */
  readonly namespace?: NetworkNamespace
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly localDetector: LocalTrafficDetector
  /** Those of the Node object unless given. */
  readonly nodeIPs?: readonly string[]
  /** Those of the ServiceCIDR objects unless given. */
  readonly serviceCIDRs?: readonly string[]
  /** Where this node reaches the API server, besides the addresses that the Service `kubernetes` leads to. */
  readonly apiServers?: readonly string[]
  readonly masqueradeAll?: boolean
  readonly masqueradeBit?: number
  /** Every address in iptables mode and the primary ones in others, unless given. */
  readonly nodePortAddresses?: readonly string[] | 'primary'
  /** Of /healthz and /livez: 10256 unless given, 0 for any, 'none' for no server. */
  readonly healthPort?: number | 'none'
  /** Of /metrics and /proxyMode, on the node itself only; no server unless given. */
  readonly metricsPort?: number
  /** Where those servers and health-check node ports listen; everywhere but for metrics, unless given. */
  readonly host?: string
  readonly metrics?: MetricsRegistry
  /** Make room for the connections of a busy node in the kernel, as kube-proxy does. Not unless asked. */
  readonly raiseConntrackLimits?: boolean
  /** All modes there are, unless given. */
  readonly backends?: Readonly<Partial<Record<ProxyMode, BackendFactory>>>
}

export interface ServiceProxy extends AsyncDisposable {
  readonly mode: ProxyMode
  /** Resolves when the rules are in effect for the first time; rejects if disposed before. */
  readonly ready: Promise<void>
  readonly table: ServiceTable
  readonly healthPort: number | undefined
  readonly metricsPort: number | undefined
  /** Another mode takes over; the rules of the former go when those of the new are in effect. */
  setMode(mode: ProxyMode): Promise<void>
  /** Resolves when all that was seen so far is in effect. */
  settled(): Promise<void>
  /** Stops, and takes away the rules of all modes. Disposing leaves them: traffic goes on. */
  cleanup(): Promise<void>
}

const HEALTH_PORT = 10_256
const MASQUERADE_BIT = 14

export async function startServiceProxy(options: ServiceProxyOptions): Promise<ServiceProxy> {
  const { transport, clock, random, log, nodeName, host } = options
  const registry = options.metrics ?? new MetricsRegistry()
  const table = new ServiceTable({ name: nodeName }, reservedRanges(options))
  const events = createEventRecorder({
    client: createClient(transport),
    clock,
    random,
    log,
    component: 'kube-proxy',
    host: nodeName,
  })
  const metrics = proxyMetrics(registry, table)
  const health = new ProxyHealth(clock)
  const nodePorts = new HealthCheckNodePorts({ log, host, isProxyHealthy: () => health.isHealthy })
  const rules = new RulesInEffect({
    ...options,
    backends: options.backends ?? BACKENDS,
    table,
    metrics,
    health,
    nodePorts,
    reports: new RefusedAddressReports(events, log),
    facts: {
      localDetector: options.localDetector,
      masqueradeAll: options.masqueradeAll ?? false,
      masqueradeBit: options.masqueradeBit ?? MASQUERADE_BIT,
      nodePortAddresses: options.nodePortAddresses ?? 'primary',
      nodeIPs: options.nodeIPs ?? [],
      serviceCIDRs: options.serviceCIDRs ?? [],
    },
  })
  const informers = createInformerFactory({ transport, clock, random, log })
  const nodes = startInformer<Node>({
    transport,
    clock,
    random,
    log,
    resource: nodeKind,
    transform: slimNode(nodeName),
  })
  const opened: HttpListener[] = []
  const stop = async () => {
    await informers[Symbol.asyncDispose]()
    await nodes[Symbol.asyncDispose]()
    await events[Symbol.asyncDispose]()
    for (const listener of opened) await listener[Symbol.asyncDispose]()
    await nodePorts[Symbol.asyncDispose]()
    await rules[Symbol.asyncDispose]()
  }
  const { healthPort = HEALTH_PORT, metricsPort } = options
  let healthListener: HttpListener | undefined
  let metricsListener: HttpListener | undefined
  try {
    const isNodeEligible = () => !nodes.isSynced || isEligible(nodes.get(nodeName))
    if (healthPort !== 'none') {
      healthListener = await startHealthServer({ port: healthPort, host, clock, health, metrics, isNodeEligible })
      opened.push(healthListener)
    }
    if (metricsPort !== undefined) {
      metricsListener = await startMetricsServer(metricsPort, host ?? '127.0.0.1', registry, () => rules.mode)
      opened.push(metricsListener)
    }
  } catch (error) {
    await stop()
    throw error
  }

  const services = informers.informer<Service>(serviceKind)
  const endpointSlices = informers.informer<EndpointSlice>(endpointSliceKind)
  const serviceCIDRs = options.serviceCIDRs ? undefined : informers.informer<ServiceCIDR>(serviceCIDRKind)
  services.onChange((old, current) => rules.serviceChanged(old, current))
  endpointSlices.onChange((old, current) => rules.endpointSliceChanged(old, current))
  const reserveNodes = () =>
    rules.reserve('a node', [...(options.nodeIPs ?? []), ...nodes.list().flatMap(nodeAddresses)])
  nodes.onChange((old, node) => {
    if (nodes.isSynced && !deepEqual(nodeAddresses(old), nodeAddresses(node))) reserveNodes()
    if (node?.metadata.name === nodeName) rules.nodeChanged(node)
  })
  serviceCIDRs?.onChange(() => rules.serviceCIDRsChanged(serviceCIDRs.list()))
  // Half of the picture would take endpoints away from clients that have them.
  Promise.all([informers.synced(), nodes.synced]).then(
    () => {
      reserveNodes()
      rules.begin()
    },
    () => {},
  )
  // Only rules bring connection tracking into the kernel.
  if (options.raiseConntrackLimits) rules.ready.then(() => raiseLimits(options)).catch(() => {})
  return {
    get mode() {
      return rules.mode
    },
    ready: rules.ready,
    table,
    healthPort: healthListener?.port,
    metricsPort: metricsListener?.port,
    setMode: (mode) => rules.setMode(mode),
    settled: () => rules.settled(),
    async cleanup() {
      await stop()
      await rules.cleanup()
    },
    [Symbol.asyncDispose]: stop,
  }
}

/** Ranges of pods and cluster IPs (DNS among them): a Service must not name an address of these as an external one. */
function reservedRanges({ serviceCIDRs = [], localDetector }: ServiceProxyOptions): ReservedAddresses {
  const reserved = new ReservedAddresses()
  const pods = localDetector.by === 'cidr' ? localDetector.cidrs : []
  reserved.setRanges({ 'cluster IPs': serviceCIDRs, pods })
  return reserved
}

const raiseLimits = ({ linux, namespace, log }: ServiceProxyOptions) =>
  raiseConntrackLimits(DEFAULT_CONNTRACK_LIMITS, availableParallelism(), log, linux.openSysctl(namespace))
