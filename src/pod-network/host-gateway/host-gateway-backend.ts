import { cidrContainsCIDR, parseCIDR } from '../../base/ip-address.ts'
import type { Logger } from '../../base/log.ts'
import type { Linux } from '../../linux/linux.ts'
import type { Route } from '../../linux/rtnetlink.ts'
import { nodeAnnotations } from '../peers/annotations.ts'
import { type PeerEntries, PeerTable } from '../peers/peer-table.ts'
import type { BackendNode, NetworkBackend, Peer } from '../pod-network.ts'

export interface HostGatewayOptions {
  readonly linux: Linux
  readonly clusterCIDRs: readonly string[]
  readonly log: Logger
}

/** Nodes that share a network: the pods of a peer are behind the peer's own address. Nothing is wrapped, nothing is lost. */
export function hostGatewayBackend({ linux, clusterCIDRs, log }: HostGatewayOptions): NetworkBackend {
  const network = linux.openRtnetlink()
  const ranges = clusterCIDRs.map((cidr) => parseCIDR(cidr)!)
  let own: readonly string[] = []

  const isOwn = ({ destination, gateway, table }: Route) => {
    const cidr = parseCIDR(destination)!
    return gateway !== undefined && table === undefined && ranges.some((range) => cidrContainsCIDR(range, cidr))
  }
  const table = new PeerTable(network, isOwn, () => false)

  function entriesOf(peer: Peer): PeerEntries {
    const routes = peer.podCIDRs.flatMap((destination): Route[] => {
      if (own.includes(destination)) return []
      const isIPv6 = destination.includes(':')
      const gateway = peer.publicAddresses.find((address) => address.includes(':') === isIPv6)
      if (!gateway) log.warn('a node has no address for its pods to be reached by', { node: peer.name, destination })
      return gateway ? [{ destination, gateway }] : []
    })
    return { routes }
  }

  return {
    name: 'host-gw',
    overhead: () => 0,
    start(node: BackendNode) {
      own = node.podCIDRs
      return nodeAnnotations('host-gw', node.publicAddresses)
    },
    setPeers: (peers) => table.setAll(new Map(peers.map((peer) => [peer.name, entriesOf(peer)]))),
    setPeer: (name, peer) => table.set(name, peer && entriesOf(peer)),
    stop: () => table.setAll(new Map()),
    [Symbol.dispose]: () => network[Symbol.dispose](),
  }
}
