import { type CIDR, formatIP, type IPAddress, type IPFamily, parseCIDR, parseIP } from '../../base/ip-address.ts'

export interface AddressRange {
  readonly first: bigint
  readonly last: bigint
}

const LOOPBACK: Readonly<Record<IPFamily, AddressRange>> = {
  IPv4: { first: 0x7f000000n, last: 0x7fffffffn },
  IPv6: { first: 1n, last: 1n },
}

/** CIDRs or single addresses of one family as ranges that do not touch: intervals of a set must not overlap. */
export function rangesOf(texts: readonly string[], family: IPFamily): AddressRange[] {
  const ranges = texts.flatMap((text) => rangeOf(text, family)).sort((a, b) => (a.first < b.first ? -1 : 1))
  const merged: { first: bigint; last: bigint }[] = []
  for (const { first, last } of ranges) {
    const previous = merged.at(-1)
    if (previous && first <= previous.last + 1n) {
      if (last > previous.last) previous.last = last
    } else merged.push({ first, last })
  }
  return merged
}

function rangeOf(text: string, family: IPFamily): AddressRange[] {
  const ip: IPAddress | undefined = parseIP(text)
  if (ip) return ip.family === family ? [{ first: ip.value, last: ip.value }] : []
  const cidr: CIDR | undefined = parseCIDR(text)
  return cidr?.family === family ? [{ first: cidr.first, last: cidr.last }] : []
}

/** What is left of the ranges without the loopback addresses. */
export function withoutLoopback(ranges: readonly AddressRange[], family: IPFamily): AddressRange[] {
  const { first, last } = LOOPBACK[family]
  return ranges.flatMap((range) => {
    const left: AddressRange[] = []
    if (range.first < first) left.push({ first: range.first, last: range.last < first ? range.last : first - 1n })
    if (range.last > last) left.push({ first: range.first > last ? range.first : last + 1n, last: range.last })
    return left
  })
}

export const addressText = (value: bigint, family: IPFamily) => formatIP({ family, value })
