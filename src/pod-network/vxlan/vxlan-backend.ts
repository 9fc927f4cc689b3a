import { formatIP, parseCIDR } from '../../base/ip-address.ts'
import type { Linux } from '../../linux/linux.ts'
import type { ForwardingEntry, Neighbour, Route } from '../../linux/rtnetlink.ts'
import { ANNOTATIONS, nodeAnnotations } from '../peers/annotations.ts'
import { type PeerEntries, PeerTable } from '../peers/peer-table.ts'
import type { BackendNode, NetworkBackend, Peer } from '../pod-network.ts'
import { ensureDevice, hardwareAddressFor, removeDevice, VNI, VXLAN_DEVICES } from './device.ts'

/** By what a node is reached: there is a device for each family that nodes have addresses of. */
const UNDERLAYS = [
  { isIPv6: false, device: VXLAN_DEVICES.IPv4, overhead: 50, annotation: ANNOTATIONS.backendData },
  { isIPv6: true, device: VXLAN_DEVICES.IPv6, overhead: 70, annotation: ANNOTATIONS.backendV6Data },
] as const
type Underlay = (typeof UNDERLAYS)[number]

/**
 * Frames between nodes inside UDP packets, as flannel does it. Nothing is learnt from packets: for each peer there is a route to its
 * pods by its end of the tunnel (the first address of its CIDR), the hardware address of that end, and the node behind it.
 */
export function vxlanBackend({ linux }: { readonly linux: Linux }): NetworkBackend {
  const network = linux.openRtnetlink()
  const devices = new Map<Underlay, number>()
  const isOwnLink = (link: number | undefined) => [...devices.values()].some((index) => index === link)
  const table = new PeerTable(network, ({ link, gateway }) => gateway !== undefined && isOwnLink(link), isOwnLink)

  function start(node: BackendNode): Record<string, string> {
    const annotations = nodeAnnotations('vxlan', node.publicAddresses)
    for (const underlay of UNDERLAYS) {
      const local = addressOf(node, underlay)
      devices.delete(underlay)
      if (!local) {
        removeDevice(network, underlay.device)
        continue
      }
      const { index, hardwareAddress } = ensureDevice(network, {
        name: underlay.device,
        local,
        uplink: node.uplink,
        overhead: underlay.overhead,
        hardwareAddress: hardwareAddressFor(node.uid, underlay.device),
        addresses: node.podCIDRs.filter((cidr) => underlayFor(cidr, [node]) === underlay).map(tunnelEnd),
      })
      devices.set(underlay, index)
      annotations[underlay.annotation] = JSON.stringify({ VNI, VtepMAC: hardwareAddress })
    }
    own = node
    return annotations
  }

  let own: BackendNode | undefined

  function entriesOf(peer: Peer): PeerEntries {
    const routes: Route[] = []
    const neighbours: Neighbour[] = []
    const forwarding: ForwardingEntry[] = []
    if (!own || peer.annotations[ANNOTATIONS.backendType] !== 'vxlan') return { routes }
    for (const destination of peer.podCIDRs) {
      const underlay = underlayFor(destination, [own, peer])
      const link = underlay && devices.get(underlay)
      const hardwareAddress = underlay && hardwareAddressIn(peer.annotations[underlay.annotation])
      if (!link || !hardwareAddress || own.podCIDRs.includes(destination)) continue
      const gateway = hostOf(tunnelEnd(destination))
      neighbours.push({ link, address: gateway, hardwareAddress })
      forwarding.push({ link, hardwareAddress, destination: addressOf(peer, underlay)! })
      routes.push({ destination, gateway, link, onlink: true })
    }
    return { routes, neighbours, forwarding }
  }

  return {
    name: 'vxlan',
    overhead: (node) => Math.max(0, ...UNDERLAYS.filter((one) => addressOf(node, one)).map(({ overhead }) => overhead)),
    start,
    setPeers: (peers) => table.setAll(new Map(peers.map((peer) => [peer.name, entriesOf(peer)]))),
    setPeer: (name, peer) => table.set(name, peer && entriesOf(peer)),
    stop() {
      table.setAll(new Map())
      for (const { device } of UNDERLAYS) removeDevice(network, device)
      devices.clear()
    },
    [Symbol.dispose]: () => network[Symbol.dispose](),
  }
}

const addressOf = ({ publicAddresses }: Pick<Peer, 'publicAddresses'>, { isIPv6 }: Underlay) =>
  publicAddresses.find((address) => address.includes(':') === isIPv6)

/** The family of the pods if all the nodes have addresses of it, else the other. */
function underlayFor(podCIDR: string, nodes: readonly Pick<Peer, 'publicAddresses'>[]): Underlay | undefined {
  const byPreference = podCIDR.includes(':') ? [UNDERLAYS[1], UNDERLAYS[0]] : UNDERLAYS
  return byPreference.find((underlay) => nodes.every((node) => addressOf(node, underlay)))
}

/** `10.244.1.0/32` for `10.244.1.0/24`. */
function tunnelEnd(podCIDR: string): string {
  const cidr = parseCIDR(podCIDR)!
  return `${formatIP({ family: cidr.family, value: cidr.first })}/${cidr.family === 'IPv4' ? 32 : 128}`
}

const hostOf = (address: string) => address.slice(0, address.indexOf('/'))

/** Undefined if the annotation is missing or was written by someone who means something else. */
function hardwareAddressIn(annotation: string | undefined): string | undefined {
  try {
    const data = JSON.parse(annotation ?? 'null') as { VNI?: unknown; VtepMAC?: unknown } | null
    const isOurs =
      data?.VNI === VNI && typeof data.VtepMAC === 'string' && /^([\da-f]{2}:){5}[\da-f]{2}$/i.test(data.VtepMAC)
    return isOurs ? (data.VtepMAC as string).toLowerCase() : undefined
  } catch {
    return undefined
  }
}
