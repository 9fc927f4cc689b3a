import { isIP } from 'node:net'

const NOT_AN_IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
const NOT_A_CIDR = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'

/** 4 or 6, or 0 if this is no address. Zones are never part of an address in the API. */
export const ipFamily = (value: string): 0 | 4 | 6 => (value.includes('%') ? 0 : (isIP(value) as 0 | 4 | 6))

/** What is wrong with an address: leading zeros and IPv4-mapped IPv6 are refused since they are read differently. */
export function isIpAddress(value: string): string[] {
  const family = ipFamily(value)
  if (family === 0) return [hasLeadingZeros(value) ? 'must not have leading 0s' : NOT_AN_IP]
  return family === 6 && isMapped(value) ? ['must not be an IPv4-mapped IPv6 address'] : []
}

export function isCidr(value: string): string[] {
  const slash = value.indexOf('/')
  const address = value.slice(0, slash)
  const length = value.slice(slash + 1)
  const family = slash < 0 ? 0 : ipFamily(address)
  if (slash > 0 && family === 0 && hasLeadingZeros(address)) return ['must not have leading 0s in IP']
  if (family === 0 || !/^\d{1,3}$/.test(length) || Number(length) > (family === 4 ? 32 : 128)) return [NOT_A_CIDR]
  if (length.length > 1 && length.startsWith('0')) return ['must not have leading 0s in prefix length']
  return family === 6 && isMapped(address) ? ['must not have an IPv4-mapped IPv6 address'] : []
}

const hasLeadingZeros = (value: string) =>
  /^\d{1,10}(\.\d{1,10}){3}$/.test(value) && isIP(value.split('.').map(Number).join('.')) === 4

/** Written with dots (`::ffff:1.2.3.4`) or in groups (`::ffff:102:304`). */
const isMapped = (value: string) => /^(?:::|(?:0{1,4}:){5}|(?:0{1,4}:){1,5}:)ffff:/i.test(value)
