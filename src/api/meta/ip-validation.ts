import {
  addressBits,
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
  parseSloppyCIDR,
  parseSloppyIP,
  unmapped,
} from '../../base/ip-address.ts'
import { type FieldError, invalid } from './field-error.ts'
import type { FieldPath } from './field-path.ts'

/**
 * Addresses in the fields of the API. Fields that are older than the strict rules take any valid spelling
 * (`validateIP`); newer ones only the canonical one (`validateCanonicalIP`).
 */

/** What is wrong with an address, in the words users know. */
export const isIpAddress = (value: string): string[] => listOf(ipMessage(value))
export const isCidr = (value: string): string[] => listOf(cidrMessage(value))
const listOf = (message: string | undefined) => (message === undefined ? [] : [message])

function ipMessage(value: string): string | undefined {
  const ip = parseIP(value)
  if (ip === undefined) {
    return parseSloppyIP(value) === undefined
      ? 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
      : 'must not have leading 0s'
  }
  return isIPv4Mapped(ip) ? 'must not be an IPv4-mapped IPv6 address' : undefined
}

export function validateIP(errors: FieldError[], path: FieldPath, value: string): boolean {
  const message = ipMessage(value)
  if (message !== undefined) errors.push(invalid(path, value, message))
  return message === undefined
}

/** What is wrong with the address as the name of an IPAddress. */
export function canonicalIPMessages(value: string): string[] {
  const message = ipMessage(value)
  if (message !== undefined) return [message]
  const canonical = formatIP(parseIP(value)!)
  return value === canonical ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`]
}

export function validateCanonicalIP(errors: FieldError[], path: FieldPath, value: string): boolean {
  const messages = canonicalIPMessages(value)
  for (const message of messages) errors.push(invalid(path, value, message))
  return messages.length === 0
}

/** Addresses that no other machine can send to make no sense as an endpoint. */
export function validateEndpointIP(errors: FieldError[], path: FieldPath, value: string): void {
  const parsed = parseSloppyIP(value)
  if (parsed === undefined) {
    errors.push(invalid(path, value, 'must be a valid IP address'))
    return
  }
  const message = unreachable(unmapped(parsed), value)
  if (message !== undefined) errors.push(invalid(path, value, message))
}

function unreachable(ip: IPAddress, value: string): string | undefined {
  if (isUnspecified(ip)) return `may not be unspecified (${value})`
  if (isLoopback(ip)) return 'may not be in the loopback range (127.0.0.0/8, ::1/128)'
  if (isLinkLocalUnicast(ip)) return 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'
  if (isLinkLocalMulticast(ip)) return 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'
  return undefined
}

function cidrMessage(value: string): string | undefined {
  if (parseSloppyCIDR(value) === undefined) {
    return 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'
  }
  const cidr = parseCIDR(value)
  if (cidr === undefined) return 'must not have leading 0s in IP or prefix length'
  if (isIPv4Mapped({ family: cidr.family, value: cidr.address })) return 'must not have an IPv4-mapped IPv6 address'
  return cidr.address === cidr.first ? undefined : 'must not have bits set beyond the prefix length'
}

export function validateCIDR(errors: FieldError[], path: FieldPath, value: string): boolean {
  const message = cidrMessage(value)
  if (message !== undefined) errors.push(invalid(path, value, message))
  return message === undefined
}

export function validateCanonicalCIDR(errors: FieldError[], path: FieldPath, value: string): void {
  if (!validateCIDR(errors, path, value)) return
  const canonical = formatCIDR(parseCIDR(value)!)
  if (value !== canonical) {
    errors.push(invalid(path, value, `must be in canonical form (${JSON.stringify(canonical)})`))
  }
}

/** Spellings that are taken but should be better: nothing for a value that is no address at all. */
export function ipWarnings(path: FieldPath, value: string): string[] {
  const sloppy = parseSloppyIP(value)
  if (sloppy === undefined) return []
  const quoted = JSON.stringify(value)
  if (parseIP(value) === undefined || isIPv4Mapped(sloppy)) {
    return [`${path}: non-standard IP address ${quoted} is invalid: use ${JSON.stringify(formatIP(unmapped(sloppy)))}`]
  }
  const canonical = formatIP(sloppy)
  if (canonical === value) return []
  return [`${path}: IPv6 address ${quoted} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`]
}

export function cidrWarnings(path: FieldPath, value: string): string[] {
  const sloppy = parseSloppyCIDR(value)
  if (sloppy === undefined) return []
  const quoted = JSON.stringify(value)
  const canonical = JSON.stringify(formatCIDR(sloppy))
  const address: IPAddress = { family: sloppy.family, value: sloppy.address }
  const warnings: string[] = []
  if (sloppy.address !== sloppy.first) {
    const single = JSON.stringify(`${formatIP(unmapped(address))}/${addressBits(sloppy.family)}`)
    warnings.push(`${path}: CIDR value ${quoted} is ambiguous in this context (should be ${canonical} or ${single}?)`)
  }
  if (parseCIDR(value) === undefined || isIPv4Mapped(address)) {
    warnings.push(`${path}: non-standard CIDR value ${quoted} is invalid: use ${canonical}`)
  }
  if (warnings.length === 0 && canonical !== quoted) {
    warnings.push(`${path}: IPv6 CIDR value ${quoted} should be in RFC 5952 canonical format (${canonical})`)
  }
  return warnings
}
