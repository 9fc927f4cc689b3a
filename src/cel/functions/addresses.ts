import {
  type CIDR,
  cidrContains,
  cidrContainsCIDR,
  cidrOf,
  formatCIDR,
  formatIP,
  type IPAddress,
  isIPv4Mapped,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseCIDR,
  parseIP,
} from '../../base/ip-address.ts'
import type { Functions } from '../library.ts'
import { CelError, type OpaqueValue } from '../values.ts'

class IpValue implements OpaqueValue {
  readonly celKind = 'net.IP'
  readonly ip: IPAddress
  readonly key: string
  /** In bytes. */
  readonly size: number

  constructor(ip: IPAddress) {
    this.ip = ip
    this.key = formatIP(ip)
    this.size = ip.family === 'IPv4' ? 4 : 16
  }
}

class CidrValue implements OpaqueValue {
  readonly celKind = 'net.CIDR'
  readonly cidr: CIDR
  /** The address as it was written, which may have bits that the prefix does not cover. */
  readonly address: IPAddress
  readonly key: string
  /** Of the prefix, in bytes. */
  readonly size: number

  constructor(cidr: CIDR, address: IPAddress) {
    this.cidr = cidr
    this.address = address
    this.key = `${formatIP(address)}/${cidr.prefixLength}`
    this.size = Math.ceil(cidr.prefixLength / 8)
  }
}

/** Zones and IPv4 in IPv6 are not taken. */
function readIp(text: string): IPAddress | undefined {
  const ip = parseIP(text)
  return ip && !isIPv4Mapped(ip) ? ip : undefined
}

function ipOf(text: string): IpValue {
  const ip = readIp(text)
  if (!ip) throw new CelError(`IP Address ${JSON.stringify(text)} parse error during conversion from string`)
  return new IpValue(ip)
}

function readCidr(text: string): CidrValue | undefined {
  const [address = '', prefix = ''] = text.split('/')
  const ip = readIp(address)
  const bits = Number(prefix)
  if (!ip || !/^(0|[1-9]\d*)$/.test(prefix) || bits > (ip.family === 'IPv4' ? 32 : 128)) return undefined
  const masked = cidrOf(ip, bits)
  return text.split('/').length === 2 && parseCIDR(formatCIDR(masked)) ? new CidrValue(masked, ip) : undefined
}

function cidrValue(text: string): CidrValue {
  const cidr = readCidr(text)
  if (!cidr) throw new CelError(`network address parse error during conversion from string: ${text}`)
  return cidr
}

const family = (ip: IPAddress) => (ip.family === 'IPv4' ? 4n : 6n)
const isMulticast = (ip: IPAddress) => (ip.family === 'IPv4' ? ip.value >> 28n === 14n : ip.value >> 120n === 255n)
const isGlobalUnicast = (ip: IPAddress) =>
  !isUnspecified(ip) &&
  !isLoopback(ip) &&
  !isMulticast(ip) &&
  !isLinkLocalUnicast(ip) &&
  !(ip.family === 'IPv4' && ip.value === 0xffffffffn)

function isCanonical(text: string): boolean {
  return ipOf(text).key === text
}

export const addresses: Functions = {
  'ip(string): net.IP': ipOf,
  'isIP(string): bool': (text: string) => readIp(text) !== undefined,
  'ip.isCanonical(string): bool': isCanonical,
  'string(net.IP): string': ({ key }: IpValue) => key,
  'net.IP.family(): int': ({ ip }: IpValue) => family(ip),
  'net.IP.isUnspecified(): bool': ({ ip }: IpValue) => isUnspecified(ip),
  'net.IP.isLoopback(): bool': ({ ip }: IpValue) => isLoopback(ip),
  'net.IP.isLinkLocalMulticast(): bool': ({ ip }: IpValue) => isLinkLocalMulticast(ip),
  'net.IP.isLinkLocalUnicast(): bool': ({ ip }: IpValue) => isLinkLocalUnicast(ip),
  'net.IP.isGlobalUnicast(): bool': ({ ip }: IpValue) => isGlobalUnicast(ip),
  'cidr(string): net.CIDR': cidrValue,
  'isCIDR(string): bool': (text: string) => readCidr(text) !== undefined,
  'string(net.CIDR): string': ({ key }: CidrValue) => key,
  'net.CIDR.containsIP(net.IP): bool': ({ cidr }: CidrValue, { ip }: IpValue) => cidrContains(cidr, ip),
  'net.CIDR.containsIP(string): bool': ({ cidr }: CidrValue, text: string) => cidrContains(cidr, ipOf(text).ip),
  'net.CIDR.containsCIDR(net.CIDR): bool': (outer: CidrValue, inner: CidrValue) =>
    cidrContainsCIDR(outer.cidr, inner.cidr),
  'net.CIDR.containsCIDR(string): bool': (outer: CidrValue, text: string) =>
    cidrContainsCIDR(outer.cidr, cidrValue(text).cidr),
  'net.CIDR.ip(): net.IP': ({ address }: CidrValue) => new IpValue(address),
  'net.CIDR.masked(): net.CIDR': ({ cidr }: CidrValue) => cidrValue(formatCIDR(cidr)),
  'net.CIDR.prefixLength(): int': ({ cidr }: CidrValue) => BigInt(cidr.prefixLength),
}
