import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { formatIP, parseCIDR } from '../base/ip-address.ts'
import { silentLogger } from '../base/log.ts'
import type { MetricsSource } from '../client/metrics-source.ts'
import type { Linux } from '../linux/linux.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'
import { openToMachines, reachedAt } from './listen-places.ts'
import { LocalNodes } from './local-nodes.ts'
import { MachineNode } from './machine-node.ts'
import { type NetworkRanges, networkRanges, rangesIn } from './network-ranges.ts'
import type { NodeConfiguration } from './node-configuration.ts'
import type { KubeletChoices } from './node-settings.ts'
import { publishClusterInfo } from './publish-cluster-info.ts'
import { type Cluster, type ClusterOptions, startCluster } from './start-cluster.ts'
import { upstreamDnsServers } from './upstream-dns.ts'

export interface RealNodesOptions {
  readonly count: number
  /** The program of a node's process, `sampan-node.js`. */
  readonly entry: string
  readonly linux: Linux
  /** How Services are reached: `nftables`, `iptables`, `userspace`. */
  readonly proxyMode: string
  /** How pods of different nodes reach each other: `host-gw`, `vxlan`. */
  readonly network: string
  /** `builtin` without; also `containerd`, or the `unix://` socket of a CRI runtime. */
  readonly runtime?: string
  readonly kubelet?: KubeletChoices
  /** This process is root only in a user namespace of one user. */
  readonly rootless?: boolean
  /** Other machines reach the cluster, and join it: this one is a node as they are, in its own network. */
  readonly machine?: {
    /** An address of this machine, or `0.0.0.0` for all of them. */
    readonly listen: string
    /** Of the node that this machine is. */
    readonly name: string
  }
  /** Where DNS queries for the rest of the world go; those of this machine unless said otherwise. */
  readonly upstreamDns?: readonly string[]
}

/** As kubelets know the API server. */
const KUBELET_CLIENT = 'kube-apiserver-kubelet-client'
/** By custom DNS has the tenth address of the range of Services. */
const DNS_OFFSET = 10n

/** A control plane in this process, and nodes that run real pods, each in a process and a network of its own. */
export async function startClusterWithNodes(
  options: ClusterOptions & { readonly dataDir: string },
  real: RealNodesOptions,
): Promise<Cluster> {
  const { clock = systemClock, log = silentLogger, dataDir } = options
  const { count, machine, rootless = false, runtime = 'builtin' } = real
  const isShared = machine !== undefined || options.store?.type === 'etcd'
  const ranges = await networkRanges(dataDir, real.linux, isShared)
  const [clusterCidrs, serviceCidrs] = [[ranges.pods], [ranges.services]]
  const configuration: NodeConfiguration = {
    clusterCidrs,
    serviceCidrs,
    clusterDns: dnsAddress(ranges.services),
    clusterDomain: 'cluster.local',
    network: real.network,
    proxyMode: real.proxyMode,
  }
  const nodes = await openNodes(options, real, ranges)
  let cluster: Cluster | undefined
  let metrics: KubeletMetrics | undefined
  try {
    const metricsSource = metricsOnceStarted(() => metrics)
    cluster = await startCluster({
      ...options,
      ...(machine ? openToMachines(options, machine.listen) : { listen: { ...options.listen, also: [nodes.gateway] } }),
      clusterCidrs,
      serviceCidrs,
      loadBalancerPools: [ranges.loadBalancers],
      // Nodes of this machine keep them among the rest of the cluster, and with it they go.
      ...(!machine && { volumesDirectory: join(dataDir, 'volumes') }),
      metricsSource,
      async onNewCertificates(running, renewed) {
        metrics?.useIdentity(renewed.issueClient(KUBELET_CLIENT, []))
        await nodes.renewCredentials()
        await options.onNewCertificates?.(running, renewed)
      },
    })
    const certificates = await cluster.certificates
    const ca = certificates.ca.cert
    const identity = certificates.issueClient(KUBELET_CLIENT, [])
    metrics = new KubeletMetrics({ client: cluster.client, ca, identity, clock, log })
    const server = serverUrl(nodes.gateway, Number(new URL(cluster.url!).port))
    if (machine) await publishClusterInfo(cluster.client, { server, ca, configuration })
    const upstreamDns = real.upstreamDns ?? (await nodes.reachableDns(upstreamDnsServers()))
    const { transport } = cluster
    const settings = { ...configuration, ...real.kubelet, upstreamDns, runtime, rootless }
    await nodes.start({ count, server, certificates, transport, settings })
  } catch (error) {
    await nodes.stop()
    await cluster?.[Symbol.asyncDispose]()
    throw error
  }
  const controlPlane = cluster
  return Object.create(controlPlane, {
    [Symbol.asyncDispose]: {
      value: async () => {
        await nodes.stop()
        metrics?.[Symbol.dispose]()
        await controlPlane[Symbol.asyncDispose]()
      },
    },
  }) as Cluster
}

function openNodes(
  options: ClusterOptions & { readonly dataDir: string },
  { entry, linux, machine }: RealNodesOptions,
  ranges: NetworkRanges,
): Promise<LocalNodes> | MachineNode {
  const { clock = systemClock, log = silentLogger, dataDir } = options
  const common = { linux, dataDir, entry, clock, log }
  if (!machine) return LocalNodes.open({ ...common, routed: rangesIn(ranges) })
  return new MachineNode({ ...common, name: machine.name, address: reachedAt(machine.listen) })
}

const serverUrl = (host: string, port: number) => `https://${host.includes(':') ? `[${host}]` : host}:${port}`

/** The API server starts before there is anybody to ask. */
function metricsOnceStarted(source: () => MetricsSource | undefined): MetricsSource {
  return {
    node: (name) => source()?.node(name),
    nodes: () => source()?.nodes() ?? [],
    pod: (namespace, name) => source()?.pod(namespace, name),
    pods: (namespace) => source()?.pods(namespace) ?? [],
  }
}

function dnsAddress(cidr: string): string {
  const range = parseCIDR(cidr)!
  return formatIP({ family: range.family, value: range.first + DNS_OFFSET })
}
