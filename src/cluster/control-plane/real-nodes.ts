/** Nodes that run real pods. They are processes of their own; what they need is loaded only where there are any. */
import { join } from 'node:path'
import { formatIP, parseCIDR } from '../../base/ip-address.ts'
import { valueFor } from '../configuration.ts'
import type { AgreedConfiguration } from '../node/agreed-configuration.ts'
import type { Part } from '../part.ts'
import { urlOf } from './api-server.ts'
import type { ControlPlane } from './control-plane.ts'
import { reachedAt } from './listen-addresses.ts'

/** How the API server presents itself to kubelets. */
const KUBELET_CLIENT = 'kube-apiserver-kubelet-client'
/** By custom DNS has the tenth address of the range of Services. */
const DNS_OFFSET = 10n

const hasRealNodes = ({ options }: ControlPlane) => options.realNodes !== undefined

/** Address ranges, and the network between nodes of this machine: the API server listens on it. */
export const nodeNetwork: Part<ControlPlane> = {
  name: 'node network',
  isNeeded: hasRealNodes,
  async start(plane) {
    const { clock, log } = plane
    const { dataDir, entry, machine } = plane.options.realNodes!
    const [{ networkRanges, rangesIn }, { kernelLinux }] = await Promise.all([
      import('../local-nodes/network-ranges.ts'),
      import('../../linux/kernel-linux.ts'),
    ])
    const linux = kernelLinux()
    const ranges = await networkRanges(dataDir, linux, machine !== undefined || plane.isShared)
    plane.clusterCidrs = [ranges.pods]
    plane.serviceCidrs = [ranges.services]
    plane.loadBalancerPools = [ranges.loadBalancers]
    const common = { linux, dataDir, entry, clock, log }
    if (machine) {
      const { MachineNode } = await import('../local-nodes/machine-node.ts')
      plane.realNodes = new MachineNode({ ...common, name: machine.name, address: reachedAt(machine.listen) })
      return
    }
    const { LocalNodes } = await import('../local-nodes/local-nodes.ts')
    const local = await LocalNodes.open({ ...common, routed: rangesIn(ranges) })
    plane.realNodes = local
    plane.alsoAt.push(local.gateway)
    // Nodes of this machine keep volumes among the rest of the cluster's data, and lose them with it.
    plane.volumesDirectory = join(dataDir, 'volumes')
  },
  stop: (plane) => plane.realNodes?.removeNetwork(),
}

/** Asks kubelets for the usage of nodes and pods. */
export const kubeletMetrics: Part<ControlPlane> = {
  name: 'kubelet metrics',
  isNeeded: hasRealNodes,
  async start(plane) {
    const { client, clock, log } = plane
    const { KubeletMetrics } = await import('./kubelet-metrics.ts')
    const certificates = await plane.certificates
    const identity = certificates.issueClient(KUBELET_CLIENT, [])
    plane.kubeletMetrics = new KubeletMetrics({ client, ca: certificates.ca.cert, identity, clock, log })
    plane.metrics = plane.kubeletMetrics
  },
  stop: (plane) => plane.kubeletMetrics?.[Symbol.dispose](),
}

/** Tells machines that want to join how to reach the cluster, and what a node of it must be like. */
export const clusterInfo: Part<ControlPlane> = {
  name: 'cluster-info',
  isNeeded: ({ options }) => options.realNodes?.machine !== undefined,
  async start(plane) {
    const { publishClusterInfo } = await import('./publish-cluster-info.ts')
    const { ca } = await plane.certificates
    const configuration = agreedConfiguration(plane)
    await publishClusterInfo(plane.client, { server: serverForNodes(plane), ca: ca.cert, configuration })
  },
}

/** The processes of the nodes. */
export const nodes: Part<ControlPlane> = {
  name: 'nodes',
  isNeeded: hasRealNodes,
  async start(plane) {
    const { count, configuration, rootless, upstreamDns } = plane.options.realNodes!
    const { upstreamDnsServers } = await import('../node/upstream-dns.ts')
    const real = plane.realNodes!
    const settings = {
      ...configuration,
      ...agreedConfiguration(plane),
      upstreamDns: upstreamDns ?? (await real.reachableDns(upstreamDnsServers())),
      rootless,
    }
    const { transport } = plane
    const start = { count, server: serverForNodes(plane), certificates: await plane.certificates, transport, settings }
    await real.start(start).catch(async (error: unknown) => {
      await real.stop()
      throw error
    })
  },
  stop: (plane) => plane.realNodes?.stop(),
}

/** New certificates for the nodes, and for this process as their client. */
export async function renewNodeCredentials(plane: ControlPlane): Promise<void> {
  const certificates = await plane.certificates
  plane.kubeletMetrics?.useIdentity(certificates.issueClient(KUBELET_CLIENT, []))
  await plane.realNodes?.renewCredentials()
}

const serverForNodes = ({ realNodes, url }: ControlPlane) => urlOf(realNodes!.gateway, Number(new URL(url!).port))

function agreedConfiguration({ options, clusterCidrs, serviceCidrs }: ControlPlane): AgreedConfiguration {
  const { configuration, machine } = options.realNodes!
  return {
    clusterCidrs: clusterCidrs!,
    serviceCidrs,
    clusterDns: dnsAddress(serviceCidrs[0]!),
    clusterDomain: 'cluster.local',
    // Other machines need not be neighbours; the nodes of one machine are.
    network: configuration.network ?? (machine ? 'vxlan' : 'host-gw'),
    proxyMode: valueFor(configuration, 'proxyMode'),
  }
}

function dnsAddress(cidr: string): string {
  const range = parseCIDR(cidr)!
  return formatIP({ family: range.family, value: range.first + DNS_OFFSET })
}
