import { familyOf, ipText, prefixBytes } from '../netlink/addresses.ts'
import { attributesOf, type NetlinkMessage } from '../netlink/reader.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'
import type { LinkAddress } from '../rtnetlink.ts'

export const RTM_NEWADDR = 20
export const RTM_DELADDR = 21
export const RTM_GETADDR = 22

const IFA_ADDRESS = 1
const IFA_LOCAL = 2
const IFA_BROADCAST = 4
/** Duplicate address detection would keep a pod's IPv6 address unusable for a second; IPAM gives none twice. */
const IFA_F_NODAD = 2
const HEADER_BYTES = 8

export function writeAddress(writer: NetlinkWriter, address: LinkAddress): void {
  const { bytes, length } = prefixBytes(address.address)
  const flags = bytes.length === 16 ? IFA_F_NODAD : 0
  writer.u8(familyOf(bytes)).u8(length).u8(flags).u8(0).u32(address.link)
  writer.attributeBytes(IFA_LOCAL, bytes).attributeBytes(IFA_ADDRESS, bytes)
  if (bytes.length === 4 && length < 31) writer.attributeBytes(IFA_BROADCAST, broadcastOf(bytes, length))
}

function broadcastOf(address: Buffer, length: number): Buffer {
  const broadcast = Buffer.allocUnsafe(4)
  broadcast.writeUInt32BE((address.readUInt32BE(0) | (0xffffffff >>> length)) >>> 0)
  return broadcast
}

export const writeAnyAddress = (writer: NetlinkWriter) => writer.zeros(HEADER_BYTES)

export function readAddress(message: NetlinkMessage): LinkAddress {
  const attributes = attributesOf(message.data, HEADER_BYTES)
  const bytes = attributes.get(IFA_LOCAL) ?? attributes.get(IFA_ADDRESS)!
  return { link: message.data.readUInt32LE(4), address: `${ipText(bytes)}/${message.data[1]}` }
}
