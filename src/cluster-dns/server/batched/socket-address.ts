import { formatIPv6, parseIPv4, parseIPv6 } from '../../../base/ip-address.ts'

const AF_INET = 2
const AF_INET6 = 10

export const familyOf = (host: string) => (host.includes(':') ? AF_INET6 : AF_INET)

/** struct sockaddr_in or sockaddr_in6: the family in the order of the machine, all else in that of the network. */
export function socketAddress(host: string, port: number): Buffer {
  const family = familyOf(host)
  const bytes = Buffer.alloc(family === AF_INET6 ? 28 : 16)
  bytes.writeUInt16LE(family, 0)
  bytes.writeUInt16BE(port, 2)
  if (family === AF_INET) bytes.writeUInt32BE(parseIPv4(host) ?? 0, 4)
  else {
    const address = parseIPv6(host) ?? 0n
    bytes.writeBigUInt64BE(address >> 64n, 8)
    bytes.writeBigUInt64BE(address & 0xffff_ffff_ffff_ffffn, 16)
  }
  return bytes
}

/** The address in it, without the port. */
export function hostOf(bytes: Uint8Array): string {
  if (bytes.length < 28) return bytes.subarray(4, 8).join('.')
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  return formatIPv6((view.getBigUint64(8) << 64n) | view.getBigUint64(16))
}

export const portOf = (bytes: Uint8Array) => (bytes[2]! << 8) | bytes[3]!
