/** What a node's own network looks like: by which link it reaches others, and by which addresses they reach it. */
import { cidrContains, isLinkLocalUnicast, isLoopback, parseCIDR, parseIP } from '../base/ip-address.ts'
import type { Linux } from '../linux/linux.ts'
import type { Link, LinkAddress, Rtnetlink } from '../linux/rtnetlink.ts'
import { LOOPBACK_INDEX } from '../linux/rtnetlink.ts'

export interface NetworkFacts {
  readonly uplink?: { readonly index: number; readonly name: string; readonly mtu: number }
  /** Of the uplink, at most one of each family, IPv4 first. */
  readonly addresses: readonly string[]
}

/** `nodeAddresses` decide if one of them is on a link; else the link of the default route; else any that has an address. */
export function networkFacts(
  linux: Linux,
  {
    nodeAddresses = [],
    except = [],
  }: { readonly nodeAddresses?: readonly string[]; readonly except?: readonly string[] } = {},
): NetworkFacts {
  const network = linux.openRtnetlink()
  try {
    return readFacts(network, nodeAddresses, except)
  } finally {
    network[Symbol.dispose]()
  }
}

function readFacts(network: Rtnetlink, nodeAddresses: readonly string[], except: readonly string[]): NetworkFacts {
  const links = network.links().filter(({ index, name }) => index !== LOOPBACK_INDEX && !except.includes(name))
  const known = new Set(links.map(({ index }) => index))
  const addresses = network.addresses().filter(({ link, address }) => known.has(link) && isGlobal(hostOf(address)))
  const uplink = chooseLink(network, links, addresses, nodeAddresses)
  if (!uplink) return { addresses: [] }
  const own = addresses.filter(({ link }) => link === uplink.index).map(({ address }) => hostOf(address))
  const preferred = [...nodeAddresses.filter((address) => own.includes(address)), ...own]
  const ofFamily = (isIPv6: boolean) => preferred.find((address) => address.includes(':') === isIPv6)
  const { index, name, mtu } = uplink
  return {
    uplink: { index, name, mtu },
    addresses: [ofFamily(false), ofFamily(true)].filter((address) => address !== undefined),
  }
}

function chooseLink(
  network: Rtnetlink,
  links: readonly Link[],
  addresses: readonly LinkAddress[],
  nodeAddresses: readonly string[],
): Link | undefined {
  const byIndex = (index: number | undefined) => links.find((link) => link.index === index)
  const holder = addresses.find(({ address }) => nodeAddresses.includes(hostOf(address)))
  if (holder) return byIndex(holder.link)
  const defaults = network.routes().filter(({ destination }) => destination === '0.0.0.0/0' || destination === '::/0')
  const [best] = defaults.filter(({ link }) => byIndex(link)).sort((a, b) => (a.metric ?? 0) - (b.metric ?? 0))
  return byIndex(best?.link) ?? links.find(({ index, up }) => up && addresses.some(({ link }) => link === index))
}

const hostOf = (address: string) => address.slice(0, address.indexOf('/'))

function isGlobal(address: string): boolean {
  const ip = parseIP(address)
  return ip !== undefined && !isLinkLocalUnicast(ip) && !isLoopback(ip)
}

/** Whether an address is in one of the ranges. */
export const isWithin = (cidrs: readonly string[], address: string) => {
  const ip = parseIP(address)
  return ip !== undefined && cidrs.some((text) => cidrContains(parseCIDR(text)!, ip))
}
