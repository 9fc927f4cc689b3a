/**
 * IP addresses and CIDRs as text and as integers. Parsing is strict unless asked otherwise: no leading zeros, no zone.
 * IPv6 is printed as RFC 5952 wants it. An IPv4-mapped IPv6 address stays IPv6 here; see `isIPv4Mapped`.
 */
export type IPFamily = 'IPv4' | 'IPv6'

export interface IPAddress {
  readonly family: IPFamily
  readonly value: bigint
}

const DOT = 0x2e
const COLON = 0x3a
const ZERO = 0x30

/** The 32 bits of dotted decimal text as an unsigned number. `sloppy` takes leading zeros (`010.1.1.1` is `10.1.1.1`). */
export function parseIPv4(text: string, sloppy = false): number | undefined {
  let address = 0
  let octet = 0
  let digits = 0
  let dots = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === DOT) {
      if (digits === 0 || ++dots > 3) return undefined
      address = address * 256 + octet
      octet = digits = 0
      continue
    }
    const digit = code - ZERO
    if (digit < 0 || digit > 9) return undefined
    if (digits > 0 && octet === 0 && !sloppy) return undefined
    octet = octet * 10 + digit
    digits++
    if (octet > 255) return undefined
  }
  return digits === 0 || dots !== 3 ? undefined : address * 256 + octet
}

/** The 128 bits of an IPv6 text. `sloppy` takes groups of more than four digits and leading zeros in an IPv4 tail. */
export function parseIPv6(text: string, sloppy = false): bigint | undefined {
  const groups: number[] = []
  let gap = -1
  let at = 0
  if (text.startsWith('::')) {
    gap = 0
    at = 2
  }
  while (at < text.length) {
    if (groups.length === 8) return undefined
    const end = endOfGroup(text, at)
    if (text.charCodeAt(end) === DOT) {
      const tail = parseIPv4(text.slice(at), sloppy)
      if (tail === undefined || groups.length > 6) return undefined
      groups.push(Math.floor(tail / 0x10000), tail % 0x10000)
      break
    }
    if (end === at || (end - at > 4 && !sloppy)) return undefined
    const group = Number.parseInt(text.slice(at, end), 16)
    if (group > 0xffff) return undefined
    groups.push(group)
    if (end === text.length) break
    if (text.charCodeAt(end) !== COLON) return undefined
    at = end + 1
    if (at === text.length) return undefined
    if (text.charCodeAt(at) === COLON) {
      if (gap >= 0) return undefined
      gap = groups.length
      at++
    }
  }
  if (gap < 0 ? groups.length !== 8 : groups.length > 7) return undefined
  return joinGroups(groups, gap)
}

function endOfGroup(text: string, start: number): number {
  let i = start
  while (i < text.length && isHexDigit(text.charCodeAt(i))) i++
  return i
}

const isHexDigit = (code: number) =>
  (code >= ZERO && code <= 0x39) || (code >= 0x61 && code <= 0x66) || (code >= 0x41 && code <= 0x46)

/** `gap` says where `::` stood, or is negative. */
function joinGroups(groups: readonly number[], gap: number): bigint {
  const missing = 8 - groups.length
  let value = 0n
  for (let i = 0; i < 8; i += 2) value = (value << 32n) | BigInt(pair(groups, gap, missing, i))
  return value
}

const pair = (groups: readonly number[], gap: number, missing: number, i: number) =>
  groupAt(groups, gap, missing, i) * 0x10000 + groupAt(groups, gap, missing, i + 1)

function groupAt(groups: readonly number[], gap: number, missing: number, i: number): number {
  if (gap < 0 || i < gap) return groups[i]!
  return i < gap + missing ? 0 : groups[i - missing]!
}

export function parseIP(text: string): IPAddress | undefined {
  return parse(text, false)
}

/** Takes what old clients wrote: `010.0.0.1`. What it means is what Kubernetes always took it for. */
export function parseSloppyIP(text: string): IPAddress | undefined {
  return parse(text, true)
}

function parse(text: string, sloppy: boolean): IPAddress | undefined {
  if (text.includes(':')) {
    const value = parseIPv6(text, sloppy)
    return value === undefined ? undefined : { family: 'IPv6', value }
  }
  const value = parseIPv4(text, sloppy)
  return value === undefined ? undefined : { family: 'IPv4', value: BigInt(value) }
}

export function formatIPv4(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`
}

export function formatIPv6(address: bigint): string {
  if (isIPv4MappedValue(address)) return `::ffff:${formatIPv4(Number(address & 0xffffffffn))}`
  const groups: number[] = []
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(Number((address >> shift) & 0xffffn))
  const gap = longestZeroRun(groups)
  if (gap.length < 2) return hex(groups)
  return `${hex(groups.slice(0, gap.start))}::${hex(groups.slice(gap.start + gap.length))}`
}

const hex = (groups: readonly number[]) => groups.map((group) => group.toString(16)).join(':')

/** The first of the longest runs: the one that RFC 5952 shortens to `::`. */
function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  const longest = { start: 0, length: 0 }
  for (let start = 0; start < groups.length; start++) {
    let end = start
    while (end < groups.length && groups[end] === 0) end++
    if (end - start > longest.length) {
      longest.start = start
      longest.length = end - start
    }
    if (end > start) start = end
  }
  return longest
}

/** An IPv4-mapped address prints as it would be typed: `::ffff:1.2.3.4`. */
export function formatIP(ip: IPAddress): string {
  return ip.family === 'IPv4' ? formatIPv4(Number(ip.value)) : formatIPv6(ip.value)
}

/** By family first, IPv4 before IPv6, then by number. */
export function compareIPs(a: IPAddress, b: IPAddress): number {
  if (a.family !== b.family) return a.family === 'IPv4' ? -1 : 1
  return a.value < b.value ? -1 : a.value > b.value ? 1 : 0
}

const isIPv4MappedValue = (value: bigint) => value >> 32n === 0xffffn

/** `::ffff:0:0/96`: IPv4 dressed as IPv6. */
export const isIPv4Mapped = (ip: IPAddress) => ip.family === 'IPv6' && isIPv4MappedValue(ip.value)

/** The IPv4 address inside an IPv4-mapped one; every other address as it is. */
export const unmapped = (ip: IPAddress): IPAddress =>
  isIPv4Mapped(ip) ? { family: 'IPv4', value: ip.value & 0xffffffffn } : ip

export const isUnspecified = (ip: IPAddress) => ip.value === 0n

export const isLoopback = (ip: IPAddress) => (ip.family === 'IPv4' ? ip.value >> 24n === 127n : ip.value === 1n)

/** 169.254.0.0/16, fe80::/10 */
export const isLinkLocalUnicast = (ip: IPAddress) =>
  ip.family === 'IPv4' ? ip.value >> 16n === 0xa9fen : ip.value >> 118n === 0x3fan

/** 224.0.0.0/24, ff02::/16 */
export const isLinkLocalMulticast = (ip: IPAddress) =>
  ip.family === 'IPv4' ? ip.value >> 8n === 0xe00000n : (ip.value >> 112n) % 16n === 2n && ip.value >> 120n === 0xffn

/**
 * Whether packets to it go to one other machine. Not so for this machine itself (also as 0.0.0.0/8), its link, groups and
 * everyone. Private networks count as global. An IPv4 address inside of an IPv6 one is judged for itself.
 */
export function isGlobalUnicast(ip: IPAddress): boolean {
  const { value } = ip
  if (ip.family === 'IPv4') {
    const first = value >> 24n
    if (first === 0n || (first >= 224n && first < 240n) || value === 0xffffffffn) return false
    return !isLoopback(ip) && !isLinkLocalUnicast(ip)
  }
  const inner = embeddedIPv4(value)
  if (inner !== undefined) return isGlobalUnicast({ family: 'IPv4', value: inner })
  const isTeredo = value >> 96n === 0x20010000n
  const isLocalNat64 = value >> 80n === 0x64ff9b0001n
  const isSiteLocal = value >> 118n === 0x3fbn
  const isMulticast = value >> 120n === 0xffn
  return !isTeredo && !isLocalNat64 && !isSiteLocal && !isMulticast && !isLinkLocalUnicast(ip)
}

/** Mapped (::ffff:0:0/96), translated (::ffff:0:0:0/96), compatible (::/96), NAT64 (64:ff9b::/96) and 6to4 (2002::/16). */
function embeddedIPv4(value: bigint): bigint | undefined {
  const prefix = value >> 32n
  if (prefix === 0xffffn || prefix === 0xffff0000n || prefix === 0n || prefix === 0x64ff9b_0000_0000_0000_0000n)
    return value & 0xffffffffn
  return value >> 112n === 0x2002n ? (value >> 80n) & 0xffffffffn : undefined
}

/** `address` is the one that was written; `first` is it without the host bits. */
export interface CIDR {
  readonly family: IPFamily
  readonly address: bigint
  readonly first: bigint
  readonly last: bigint
  readonly prefixLength: number
}

export const addressBits = (family: IPFamily) => (family === 'IPv4' ? 32 : 128)

export function cidrOf(ip: IPAddress, prefixLength: number): CIDR {
  const hostBits = BigInt(addressBits(ip.family) - prefixLength)
  const first = (ip.value >> hostBits) << hostBits
  return { family: ip.family, address: ip.value, first, last: first + (1n << hostBits) - 1n, prefixLength }
}

/** Host bits may be set: `10.0.0.7/24` is a CIDR, not a canonical one. */
export function parseCIDR(text: string): CIDR | undefined {
  return parsePrefixed(text, parseIP, /^(?:0|[1-9]\d{0,2})$/)
}

/** Takes leading zeros in the address and in the prefix length. */
export function parseSloppyCIDR(text: string): CIDR | undefined {
  return parsePrefixed(text, parseSloppyIP, /^\d{1,9}$/)
}

function parsePrefixed(
  text: string,
  parseAddress: (text: string) => IPAddress | undefined,
  lengthPattern: RegExp,
): CIDR | undefined {
  const slash = text.indexOf('/')
  if (slash < 0) return undefined
  const length = text.slice(slash + 1)
  const ip = lengthPattern.test(length) ? parseAddress(text.slice(0, slash)) : undefined
  return ip === undefined || Number(length) > addressBits(ip.family) ? undefined : cidrOf(ip, Number(length))
}

/** The canonical form: host bits cleared. */
export function formatCIDR(cidr: CIDR): string {
  return `${formatIP({ family: cidr.family, value: cidr.first })}/${cidr.prefixLength}`
}

export const cidrSize = (cidr: CIDR) => cidr.last - cidr.first + 1n

export const cidrContains = (cidr: CIDR, ip: IPAddress) =>
  cidr.family === ip.family && ip.value >= cidr.first && ip.value <= cidr.last

export const cidrContainsCIDR = (outer: CIDR, inner: CIDR) =>
  outer.family === inner.family && inner.first >= outer.first && inner.last <= outer.last

export const cidrsOverlap = (a: CIDR, b: CIDR) => a.family === b.family && a.first <= b.last && b.first <= a.last

/** Every address, network and broadcast included. */
export function* addressesOf(cidr: CIDR): Generator<IPAddress> {
  for (let value = cidr.first; value <= cidr.last; value++) yield { family: cidr.family, value }
}
