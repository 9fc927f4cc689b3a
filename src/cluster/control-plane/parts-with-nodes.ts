/** A control plane with nodes that run real pods on its machine. Loaded only where there are such nodes. */
import { join } from 'node:path'
import { formatIP, parseCIDR } from '../../base/ip-address.ts'
import { kernelLinux } from '../../linux/kernel-linux.ts'
import { valueFor } from '../configuration.ts'
import { LocalNodes } from '../local-nodes/local-nodes.ts'
import { MachineNode } from '../local-nodes/machine-node.ts'
import { networkRanges, rangesIn } from '../local-nodes/network-ranges.ts'
import type { AgreedConfiguration } from '../node/agreed-configuration.ts'
import { upstreamDnsServers } from '../node/upstream-dns.ts'
import type { Part } from '../part.ts'
import { urlOf } from './api-server.ts'
import type { ControlPlane } from './control-plane.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'
import { reachedAt } from './listen-addresses.ts'
import { CONTROL_PLANE_PARTS } from './parts.ts'
import { publishClusterInfo } from './publish-cluster-info.ts'

/** How the API server presents itself to kubelets. */
const KUBELET_CLIENT = 'kube-apiserver-kubelet-client'
/** By custom DNS has the tenth address of the range of Services. */
const DNS_OFFSET = 10n

/** Address ranges, and the network between nodes of this machine: the API server listens on it. */
const nodeNetwork: Part<ControlPlane> = {
  name: 'node network',
  async start(plane) {
    const { clock, log } = plane
    const { dataDir, entry, machine, configuration } = plane.options.realNodes!
    const linux = kernelLinux()
    const ranges = await networkRanges(dataDir, linux, machine !== undefined || plane.isShared)
    plane.clusterCidrs = [ranges.pods]
    plane.serviceCidrs = [ranges.services]
    plane.loadBalancerPools = [ranges.loadBalancers]
    const common = { linux, dataDir, entry, clock, log }
    if (machine) {
      plane.realNodes = new MachineNode({ ...common, name: machine.name, address: reachedAt(machine.listen) })
      return
    }
    const local = await LocalNodes.open({
      ...common,
      routed: rangesIn(ranges),
      allowForwardingFrom: valueFor(configuration, 'allowForwardingFrom'),
    })
    plane.realNodes = local
    plane.alsoAt.push(local.gateway)
    // Nodes of this machine keep volumes among the rest of the cluster's data, and lose them with it.
    plane.volumesDirectory = join(dataDir, 'volumes')
  },
  stop: (plane) => plane.realNodes?.removeNetwork(),
}

/** Asks kubelets for the usage of nodes and pods. */
const kubeletMetrics: Part<ControlPlane> = {
  name: 'kubelet metrics',
  async start(plane) {
    const { client, clock, log } = plane
    const certificates = await plane.certificates
    const identity = certificates.issueClient(KUBELET_CLIENT, [])
    const metrics = new KubeletMetrics({ client, ca: certificates.ca.cert, identity, clock, log })
    plane.kubeletMetrics = metrics
    plane.metrics = metrics
    plane.onNewCertificates.push((renewed) => metrics.useIdentity(renewed.issueClient(KUBELET_CLIENT, [])))
  },
  stop: (plane) => plane.kubeletMetrics?.[Symbol.dispose](),
}

/** Tells machines that want to join how to reach the cluster, and what a node of it must be like. */
const clusterInfo: Part<ControlPlane> = {
  name: 'cluster-info',
  isNeeded: ({ options }) => options.realNodes?.machine !== undefined,
  async start(plane) {
    const { ca } = await plane.certificates
    const configuration = agreedConfiguration(plane)
    await publishClusterInfo(plane.client, { server: serverForNodes(plane), ca: ca.cert, configuration })
  },
}

/** The processes of the nodes. */
const nodes: Part<ControlPlane> = {
  name: 'nodes',
  async start(plane) {
    const { count, configuration, rootless, upstreamDns } = plane.options.realNodes!
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
    plane.onNewCertificates.push(() => real.renewCredentials())
  },
  stop: (plane) => plane.realNodes?.stop(),
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

/** What such a control plane consists of, in the order of its start. */
export const PARTS_WITH_REAL_NODES: readonly Part<ControlPlane>[] = [
  nodeNetwork,
  ...CONTROL_PLANE_PARTS,
  kubeletMetrics,
  clusterInfo,
  nodes,
]
