/** What rules of this room compare packets with, in the terms of the kernel. */
import { type CIDR, cidrOf, formatIP, parseCIDR } from '../../base/ip-address.ts'
import type { NftExpression } from '../../linux/nft-expressions.ts'
import { encodeValue } from '../../linux/nft-values.ts'
import type { NftElement } from '../../linux/nftables.ts'

/** Where things are in the headers of a family. */
export const IPV4 = {
  family: 'ip',
  nfproto: 2,
  source: 12,
  destination: 16,
  addressBytes: 4,
  type: 'ipv4_addr',
  neverMasqueraded: ['224.0.0.0/4'],
} as const
export const IPV6 = {
  family: 'ip6',
  nfproto: 10,
  source: 8,
  destination: 24,
  addressBytes: 16,
  type: 'ipv6_addr',
  neverMasqueraded: ['fe80::/10', 'ff00::/8'],
} as const
export type Layout = typeof IPV4 | typeof IPV6

export const isFamily = ({ nfproto }: Layout): NftExpression[] => [
  { expr: 'meta', key: 'nfproto', to: 0 },
  { expr: 'compare', from: 0, op: 'eq', value: Buffer.from([nfproto]) },
]

export const address = (layout: Layout, which: 'source' | 'destination'): NftExpression => ({
  expr: 'payload',
  base: 'network',
  offset: layout[which],
  length: layout.addressBytes,
  to: 0,
})

export const onLink = (key: 'iifname' | 'oifname', name: string): NftExpression[] => [
  { expr: 'meta', key, to: 0 },
  { expr: 'compare', from: 0, op: 'eq', value: encodeValue('ifname', name) },
]

export function strictCIDR(text: string): CIDR {
  const cidr = parseCIDR(text)
  if (!cidr) throw new Error(`${text} is no CIDR`)
  return cidr
}

export const isOf = (layout: Layout) => (cidr: CIDR) => (cidr.family === 'IPv4') === (layout === IPV4)

/** Of one family, without those inside of others: the kernel refuses ranges that overlap. */
export function withoutContained(cidrs: readonly CIDR[]): CIDR[] {
  const widestFirst = [...cidrs].sort((a, b) => compare(a.first, b.first) || compare(b.last, a.last))
  let last = -1n
  return widestFirst.filter((cidr) => {
    const isBeyond = cidr.last > last
    if (isBeyond) last = cidr.last
    return isBeyond
  })
}

const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0)

export function rangeOf(cidr: CIDR): NftElement {
  const type = cidr.family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr'
  const bytes = (value: bigint) => encodeValue(type, formatIP({ family: cidr.family, value }))
  const { first, last } = cidrOf({ family: cidr.family, value: cidr.first }, cidr.prefixLength)
  return { key: bytes(first), keyEnd: bytes(last) }
}
