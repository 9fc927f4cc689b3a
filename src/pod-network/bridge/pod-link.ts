import type { Clock } from '../../base/clock.ts'
import type { Linux } from '../../linux/linux.ts'
import type { NetworkNamespace } from '../../linux/network-namespace.ts'
import { type Link, LOCAL_TABLE, LOOPBACK_INDEX, type Rtnetlink } from '../../linux/rtnetlink.ts'
import type { Sysctl } from '../../linux/sysctl.ts'
import { hasCode } from '../../linux/system-error.ts'
import type { Bandwidth } from '../pod-network.ts'
import { anywhere, asHost, hardwareAddressOf, isIPv6 } from './addresses.ts'

export const POD_LINK = 'eth0'

export interface PodLinkPlan {
  /** The node's end of the veth pair. */
  readonly veth: string
  readonly bridge: number
  readonly mtu: number
  readonly addresses: readonly string[]
  /** One for each address. */
  readonly gateways: readonly string[]
  readonly bandwidth?: Bandwidth
}

/** Brings a pod's namespace to the plan, whatever is there of it already. The pod can be reached when it resolves. */
export async function connectPod(
  linux: Linux,
  network: Rtnetlink,
  inside: NetworkNamespace,
  plan: PodLinkPlan,
  clock: Clock,
): Promise<void> {
  const pod = linux.openRtnetlink(inside)
  try {
    const eth0 = pod.link(POD_LINK) ?? addPair(linux, network, inside, pod, plan)
    pod.changeLink(LOOPBACK_INDEX, { up: true })
    if (!eth0.up) pod.changeLink(eth0.index, { up: true })
    joinBridge(network, plan)
    announcePod(network, plan.bridge, plan.addresses)
    for (const address of plan.addresses) addAddress(pod, eth0.index, asHost(address))
    for (const gateway of plan.gateways) {
      pod.replaceRoute({ destination: anywhere(gateway), gateway, link: eth0.index, onlink: true })
    }
    limitRates(network, pod, eth0.index, plan)
    // To read a link makes the kernel finish what follows from its coming up: until then it drops packets.
    pod.link(POD_LINK)
    network.link(plan.veth)
    await untilLocal(pod, plan.addresses.filter(isIPv6).map(asHost), clock)
  } finally {
    pod[Symbol.dispose]()
  }
}

const LONGEST_WAIT = 1000

/** The kernel takes an IPv6 address into use in its own time, mostly within a millisecond; packets that come before are lost. */
async function untilLocal(pod: Rtnetlink, addresses: readonly string[], clock: Clock): Promise<void> {
  if (addresses.length === 0) return
  for (let waited = 0; waited < LONGEST_WAIT; waited++) {
    const local = new Set(pod.routes(LOCAL_TABLE).map(({ destination }) => destination))
    if (addresses.every((address) => local.has(address))) return
    await clock.sleep(1)
  }
}

function addPair(linux: Linux, network: Rtnetlink, inside: NetworkNamespace, pod: Rtnetlink, plan: PodLinkPlan): Link {
  trustNobody(linux.openSysctl(inside), plan.addresses.some(isIPv6))
  const hardwareAddress = hardwareAddressOf(plan.addresses[0]!)
  const peer = { name: POD_LINK, mtu: plan.mtu, hardwareAddress, namespace: inside }
  const pair = { kind: 'veth', name: plan.veth, mtu: plan.mtu, up: true, master: plan.bridge, peer } as const
  try {
    network.addLink(pair)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    // Of a namespace that the kernel has not yet cleared away.
    removeVeth(network, plan.veth)
    network.addLink(pair)
  }
  return pod.link(POD_LINK)!
}

/** Every way a pod takes leads through the node. Neither the node nor a neighbour may talk it into another. */
function trustNobody(sysctl: Sysctl, hasIPv6: boolean): void {
  sysctl.write('net/ipv4/conf/all/accept_redirects', 0)
  sysctl.write('net/ipv4/conf/default/accept_redirects', 0)
  if (!hasIPv6) return
  sysctl.write('net/ipv6/conf/default/accept_redirects', 0)
  sysctl.write('net/ipv6/conf/default/accept_ra', 0)
  sysctl.write('net/ipv6/conf/default/accept_dad', 0)
}

/**
 * The node is told where its pods are and need not ask: a pod answers for its IPv6 address only some time after it has got it, and
 * whoever asked before waits a second.
 */
export function announcePod(network: Rtnetlink, bridge: number, addresses: readonly string[]): void {
  const hardwareAddress = hardwareAddressOf(addresses[0]!)
  for (const address of addresses) network.replaceNeighbour({ link: bridge, address, hardwareAddress })
}

export function forgetPod(network: Rtnetlink, bridge: number, addresses: readonly string[]): void {
  for (const address of addresses) {
    try {
      network.deleteNeighbour({ link: bridge, address })
    } catch (error) {
      if (!hasCode(error, 'ENOENT', 'ENODEV')) throw error
    }
  }
}

/** What comes into the pod leaves the node's end, and the other way round. */
function limitRates(network: Rtnetlink, pod: Rtnetlink, eth0: number, { veth, bandwidth = {} }: PodLinkPlan): void {
  const outside = bandwidth.ingress ? network.link(veth) : undefined
  if (outside && bandwidth.ingress) network.limitRate({ link: outside.index, bitsPerSecond: bandwidth.ingress })
  if (bandwidth.egress) pod.limitRate({ link: eth0, bitsPerSecond: bandwidth.egress })
}

/** A packet to a Service whose endpoint is the sender itself leaves by the port it came from: that is hairpin. */
export function joinBridge(network: Rtnetlink, { veth, bridge }: Pick<PodLinkPlan, 'veth' | 'bridge'>): void {
  const link = network.link(veth)
  if (!link) return
  if (link.master !== bridge) network.changeLink(link.index, { master: bridge, up: true })
  if (link.master !== bridge || !link.hairpin) network.changeLink(link.index, { hairpin: true })
}

function addAddress(pod: Rtnetlink, link: number, address: string): void {
  try {
    pod.addAddress({ link, address })
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

export function removeVeth(network: Rtnetlink, veth: string): void {
  const link = network.link(veth)
  if (!link) return
  try {
    network.deleteLink(link.index)
  } catch (error) {
    if (!hasCode(error, 'ENODEV')) throw error
  }
}

/** What differs from the plan, in words; undefined if nothing does. */
export function podLinkProblem(
  linux: Linux,
  network: Rtnetlink,
  inside: NetworkNamespace,
  plan: Pick<PodLinkPlan, 'veth' | 'bridge' | 'addresses'>,
): string | undefined {
  const pod = linux.openRtnetlink(inside)
  try {
    const eth0 = pod.link(POD_LINK)
    if (!eth0) return `it has no ${POD_LINK}`
    if (!eth0.up) return `its ${POD_LINK} is down`
    if (network.link(plan.veth)?.master !== plan.bridge) return `${plan.veth} is not on the bridge`
    const present = new Set(pod.addresses().map(({ address }) => address))
    const missing = plan.addresses.find((address) => !present.has(asHost(address)))
    if (missing) return `it has lost its address ${missing}`
    const defaults = new Set(pod.routes().map(({ destination }) => destination))
    const unrouted = plan.addresses.find((address) => !defaults.has(anywhere(address)))
    return unrouted && `it has lost its default route to ${anywhere(unrouted)}`
  } finally {
    pod[Symbol.dispose]()
  }
}
