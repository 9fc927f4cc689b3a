/** The bytes of keys and data in sets and maps, and their text. */
import { ipBytes, ipText, macBytes, macText } from './netlink/addresses.ts'
import { textOf } from './netlink/reader.ts'

/** The numbers are nft's own, so that `nft list ruleset` prints the values. */
export const NFT_TYPES = {
  integer: { id: 4, bytes: 4 },
  ipv4_addr: { id: 7, bytes: 4 },
  ipv6_addr: { id: 8, bytes: 16 },
  ether_addr: { id: 9, bytes: 6 },
  inet_proto: { id: 12, bytes: 1 },
  inet_service: { id: 13, bytes: 2 },
  mark: { id: 19, bytes: 4 },
  ifname: { id: 41, bytes: 16 },
} as const

export type NftType = keyof typeof NFT_TYPES
export type NftValue = string | number

const padded = (length: number) => (length + 3) & ~3

/** A part of a concatenation begins at a register; one alone has no padding. */
export function lengthOf(types: readonly NftType[]): number {
  if (types.length === 1) return NFT_TYPES[types[0]!].bytes
  return types.reduce((sum, type) => sum + padded(NFT_TYPES[type].bytes), 0)
}

export function encodeValues(types: readonly NftType[], values: readonly NftValue[]): Buffer {
  if (types.length !== values.length) throw new TypeError(`${values.length} values for ${types.length} types`)
  // From the pool: tens of thousands are made at once, and one allocation each is what costs.
  const bytes = Buffer.allocUnsafe(lengthOf(types)).fill(0)
  let at = 0
  for (let i = 0; i < types.length; i++) {
    writeValue(bytes, at, types[i]!, values[i]!)
    at += padded(NFT_TYPES[types[i]!].bytes)
  }
  return bytes
}

export const encodeValue = (type: NftType, value: NftValue) => encodeValues([type], [value])

function writeValue(bytes: Buffer, at: number, type: NftType, value: NftValue): void {
  switch (type) {
    case 'ipv4_addr':
    case 'ipv6_addr':
      writeAddress(bytes, at, type, String(value))
      return
    case 'ether_addr':
      bytes.set(macBytes(String(value)), at)
      return
    case 'inet_proto':
      bytes[at] = Number(value)
      return
    case 'inet_service':
      bytes.writeUInt16BE(Number(value), at)
      return
    // Marks and generated numbers are in the order of the host.
    case 'mark':
    case 'integer':
      bytes.writeUInt32LE(Number(value), at)
      return
    case 'ifname':
      bytes.write(String(value), at, 15)
  }
}

function writeAddress(bytes: Buffer, at: number, type: NftType, text: string): void {
  const address = ipBytes(text)
  if (address.length !== NFT_TYPES[type].bytes) throw new TypeError(`${text} is no ${type}`)
  bytes.set(address, at)
}

export function decodeValues(types: readonly NftType[], bytes: Buffer): NftValue[] {
  let at = 0
  return types.map((type) => {
    const { bytes: length } = NFT_TYPES[type]
    const value = readValue(type, bytes.subarray(at, at + length))
    at += padded(length)
    return value
  })
}

function readValue(type: NftType, bytes: Buffer): NftValue {
  switch (type) {
    case 'ipv4_addr':
    case 'ipv6_addr':
      return ipText(bytes)
    case 'ether_addr':
      return macText(bytes)
    case 'inet_proto':
      return bytes[0]!
    case 'inet_service':
      return bytes.readUInt16BE(0)
    case 'mark':
    case 'integer':
      return bytes.readUInt32LE(0)
    case 'ifname':
      return textOf(bytes)
  }
}
