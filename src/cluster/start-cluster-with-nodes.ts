import { readFileSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { formatIP, isLoopback, parseCIDR, parseIP } from '../base/ip-address.ts'
import { silentLogger } from '../base/log.ts'
import type { MetricsSource } from '../client/metrics-source.ts'
import type { Linux } from '../linux/linux.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'
import { LocalNodes } from './local-nodes.ts'
import { type Cluster, type ClusterOptions, DEFAULT_SERVICE_CIDRS, startCluster } from './start-cluster.ts'
import { clusterCidrsFor } from './start-nodes.ts'

export interface RealNodesOptions {
  readonly count: number
  /** The program of a node's process, `sampan-node.js`. */
  readonly entry: string
  readonly linux: Linux
  /** How Services are reached: `nftables`, `iptables`, `userspace`. */
  readonly proxyMode: string
  /** How pods of different nodes reach each other: `host-gw`, `vxlan`. */
  readonly network: string
  /** This process is root only in a user namespace of one user. */
  readonly rootless?: boolean
}

/** As kubelets know the API server. */
const KUBELET_CLIENT = 'kube-apiserver-kubelet-client'
/** By custom DNS has the tenth address of the range of Services. */
const DNS_OFFSET = 10n
/** Routed to the nodes like the range of Services, and apart from it. */
const LOAD_BALANCER_POOL = '10.98.0.0/24'

/** A control plane in this process, and nodes that run real pods, each in a process and a network of its own. */
export async function startClusterWithNodes(
  options: ClusterOptions & { readonly dataDir: string },
  { count, entry, linux, proxyMode, network, rootless = false }: RealNodesOptions,
): Promise<Cluster> {
  const { clock = systemClock, log = silentLogger, dataDir, serviceCidrs = DEFAULT_SERVICE_CIDRS } = options
  const clusterCidrs = clusterCidrsFor(count)
  const routed = [...clusterCidrs, ...serviceCidrs, LOAD_BALANCER_POOL]
  const nodes = await LocalNodes.open({ linux, dataDir, entry, routed, clock, log })
  let cluster: Cluster | undefined
  let metrics: KubeletMetrics | undefined
  try {
    const listen = { ...(options.listen || {}), also: [nodes.gateway] }
    const metricsSource = metricsOnceStarted(() => metrics)
    cluster = await startCluster({ ...options, listen, loadBalancerPools: [LOAD_BALANCER_POOL], metricsSource })
    const certificates = await cluster.certificates
    const identity = certificates.issueClient(KUBELET_CLIENT, [])
    metrics = new KubeletMetrics({ client: cluster.client, ca: certificates.ca.cert, identity, clock, log })
    await nodes.start({
      count,
      server: `https://${nodes.gateway}:${new URL(cluster.url!).port}`,
      certificates,
      settings: {
        clusterCidrs,
        serviceCidrs,
        clusterDns: dnsAddress(serviceCidrs[0]!),
        clusterDomain: 'cluster.local',
        upstreamDns: upstreamServers(),
        proxyMode,
        network,
        rootless,
      },
    })
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

/** Those of this machine that a node can reach: its loopback is another. */
function upstreamServers(): readonly string[] {
  const lines = readFileSync('/etc/resolv.conf', 'utf8').split('\n')
  const servers = lines.flatMap((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
  return servers.filter((server) => {
    const ip = parseIP(server)
    return ip && !isLoopback(ip)
  })
}
