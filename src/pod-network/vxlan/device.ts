import { createHash } from 'node:crypto'
import type { Link, Rtnetlink } from '../../linux/rtnetlink.ts'
import { hasCode } from '../../linux/system-error.ts'

export const VNI = 1
/** Linux' own port for VXLAN, older than IANA's; what flannel takes. */
export const PORT = 8472
/** By the family that nodes have addresses of. */
export const VXLAN_DEVICES = { IPv4: 'sampan.1', IPv6: 'sampan-v6.1' } as const

export interface DevicePlan {
  readonly name: string
  /** The address of this node that packets between nodes come from. */
  readonly local: string
  readonly uplink: { readonly index: number; readonly mtu: number }
  readonly overhead: number
  readonly hardwareAddress: string
  /** The node's own addresses on it, with prefix length. */
  readonly addresses: readonly string[]
}

/** The device as planned: made, or adopted with the hardware address it has, which the peers know. */
export function ensureDevice(network: Rtnetlink, plan: DevicePlan): Link {
  const present = network.link(plan.name)
  if (present && !fits(present, plan)) network.deleteLink(present.index)
  const device = present && fits(present, plan) ? present : addDevice(network, plan)
  const mtu = plan.uplink.mtu - plan.overhead
  if (device.mtu !== mtu) network.changeLink(device.index, { mtu })
  if (!device.up) network.changeLink(device.index, { up: true })
  const addresses = network.addresses().filter(({ link }) => link === device.index)
  for (const one of addresses) {
    if (!plan.addresses.includes(one.address) && !one.address.startsWith('fe80:')) network.deleteAddress(one)
  }
  for (const address of plan.addresses) {
    if (!addresses.some((one) => one.address === address)) addAddress(network, device.index, address)
  }
  return network.link(plan.name)!
}

function addDevice(network: Rtnetlink, { name, local, uplink, overhead, hardwareAddress }: DevicePlan): Link {
  const vxlan = { id: VNI, port: PORT, local, device: uplink.index, learning: false }
  return network.addLink({ kind: 'vxlan', name, mtu: uplink.mtu - overhead, hardwareAddress, vxlan })
}

function fits({ vxlan }: Link, { local, uplink }: DevicePlan): boolean {
  return vxlan?.id === VNI && vxlan.port === PORT && vxlan.local === local && vxlan.device === uplink.index
}

function addAddress(network: Rtnetlink, link: number, address: string): void {
  try {
    network.addAddress({ link, address })
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

export function removeDevice(network: Rtnetlink, name: string): void {
  const device = network.link(name)
  if (device?.kind === 'vxlan') network.deleteLink(device.index)
}

/** The same for a node after every restart of the machine, so that peers need not be told again. */
export function hardwareAddressFor(nodeUid: string, device: string): string {
  const hash = createHash('sha256').update(`${nodeUid} ${device}`).digest()
  // Locally administered, and of one station.
  const bytes = [(hash[0]! & 0xfc) | 0x02, ...hash.subarray(1, 6)]
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':')
}
