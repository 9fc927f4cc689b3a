import type { Link, Rtnetlink } from '../../linux/rtnetlink.ts'
import type { Sysctl } from '../../linux/sysctl.ts'
import { hardwareAddressOf, isIPv6 } from './addresses.ts'

export interface BridgePlan {
  readonly name: string
  /** The node's own addresses on it, with prefix length: the pods' gateways. */
  readonly gateways: readonly string[]
  readonly mtu: number
}

/** The bridge as planned: made, or adopted and brought to it. */
export function ensureBridge(network: Rtnetlink, sysctl: Sysctl, plan: BridgePlan): Link {
  const bridge = network.link(plan.name) ?? addBridge(network, plan)
  if (bridge.kind !== 'bridge') throw new Error(`${plan.name} is there already and is no bridge`)
  if (bridge.mtu !== plan.mtu) network.changeLink(bridge.index, { mtu: plan.mtu })
  // The node asks for its pods by a link-local address, which would have to prove itself for two seconds.
  if (plan.gateways.some(isIPv6)) set(sysctl, `net/ipv6/conf/${plan.name}/accept_dad`, '0')
  if (!bridge.up) network.changeLink(bridge.index, { up: true })
  const present = network.addresses().filter(({ link, address }) => link === bridge.index && !isLinkLocal(address))
  for (const old of present) if (!plan.gateways.includes(old.address)) network.deleteAddress(old)
  for (const address of plan.gateways) {
    if (!present.some((one) => one.address === address)) network.addAddress({ link: bridge.index, address })
  }
  return network.link(plan.name)!
}

const isLinkLocal = (address: string) => address.startsWith('fe80:')

/** With a hardware address of its own: else it would have the lowest of its ports, and change with the pods. */
function addBridge(network: Rtnetlink, { name, gateways, mtu }: BridgePlan): Link {
  const hardwareAddress = hardwareAddressOf(gateways[0]!.slice(0, gateways[0]!.indexOf('/')))
  return network.addLink({ kind: 'bridge', name, mtu, hardwareAddress })
}

/** What the node must do for its pods: forward, and let its own 127.0.0.1 reach host ports. */
export function allowForwarding(sysctl: Sysctl, bridge: string, uplink: string, gateways: readonly string[]): void {
  if (gateways.some((address) => !isIPv6(address))) {
    set(sysctl, 'net/ipv4/ip_forward', '1')
    set(sysctl, `net/ipv4/conf/${bridge}/send_redirects`, '0')
    set(sysctl, `net/ipv4/conf/${bridge}/route_localnet`, '1')
  }
  if (gateways.some(isIPv6)) {
    // A router ignores the advertisements of others unless told twice: the node's own default route may come from one.
    const acceptRouters = `net/ipv6/conf/${uplink}/accept_ra`
    if (sysctl.read(acceptRouters) === '1') sysctl.write(acceptRouters, 2)
    set(sysctl, 'net/ipv6/conf/all/forwarding', '1')
  }
}

/** Not written if it is so already: in a container it may be read-only and right. */
function set(sysctl: Sysctl, name: string, value: string): void {
  if (sysctl.read(name) !== value) sysctl.write(name, value)
}
