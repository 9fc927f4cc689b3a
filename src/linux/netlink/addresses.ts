import { formatIPv4, formatIPv6, parseIPv4, parseIPv6 } from '../../base/ip-address.ts'

export const AF_INET = 2
export const AF_INET6 = 10
export const AF_BRIDGE = 7

/** 4 or 16 bytes in network order. */
export function ipBytes(text: string): Buffer {
  return text.includes(':') ? ipv6Bytes(text) : ipv4Bytes(text)
}

function ipv4Bytes(text: string): Buffer {
  const value = parseIPv4(text)
  if (value === undefined) throw new TypeError(`${text} is no IP address`)
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function ipv6Bytes(text: string): Buffer {
  const value = parseIPv6(text)
  if (value === undefined) throw new TypeError(`${text} is no IP address`)
  const bytes = Buffer.allocUnsafe(16)
  bytes.writeBigUInt64BE(value >> 64n)
  bytes.writeBigUInt64BE(value & 0xffffffffffffffffn, 8)
  return bytes
}

export function ipText(bytes: Buffer): string {
  if (bytes.length < 16) return formatIPv4(bytes.readUInt32BE(0))
  return formatIPv6((bytes.readBigUInt64BE(0) << 64n) | bytes.readBigUInt64BE(8))
}

export const familyOf = (bytes: Uint8Array) => (bytes.length === 4 ? AF_INET : AF_INET6)

/** `10.0.0.1/24`; without a slash the whole address. */
export function prefixBytes(text: string): { bytes: Buffer; length: number } {
  const slash = text.indexOf('/')
  const bytes = ipBytes(slash < 0 ? text : text.slice(0, slash))
  const length = slash < 0 ? bytes.length * 8 : Number(text.slice(slash + 1))
  if (!Number.isInteger(length) || length < 0 || length > bytes.length * 8) throw new TypeError(`${text} is no CIDR`)
  return { bytes, length }
}

const MAC = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i

export function macBytes(text: string): Buffer {
  if (!MAC.test(text)) throw new TypeError(`${text} is no hardware address`)
  return Buffer.from(text.replaceAll(':', ''), 'hex')
}

export const macText = (bytes: Buffer) => bytes.toString('hex').replace(/..(?!$)/g, '$&:')
