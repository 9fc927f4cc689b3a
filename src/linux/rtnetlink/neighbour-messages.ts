import { AF_BRIDGE, familyOf, ipBytes, ipText, macBytes, macText } from '../netlink/addresses.ts'
import { attributesOf, type NetlinkMessage } from '../netlink/reader.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'
import type { ForwardingEntry, Neighbour } from '../rtnetlink.ts'

export const RTM_NEWNEIGH = 28
export const RTM_DELNEIGH = 29
export const RTM_GETNEIGH = 30

const NDA_DST = 1
const NDA_LLADDR = 2
const NUD_PERMANENT = 0x80
const NTF_SELF = 2
const HEADER_BYTES = 12

/** struct ndmsg */
function writeHeader(writer: NetlinkWriter, family: number, link: number, flags: number): void {
  writer.u8(family).u8(0).u16(0).u32(link).u16(NUD_PERMANENT).u8(flags).u8(0)
}

export function writeNeighbour(
  writer: NetlinkWriter,
  neighbour: Omit<Neighbour, 'hardwareAddress'> & Partial<Neighbour>,
): void {
  const address = ipBytes(neighbour.address)
  writeHeader(writer, familyOf(address), neighbour.link, 0)
  writer.attributeBytes(NDA_DST, address)
  if (neighbour.hardwareAddress) writer.attributeBytes(NDA_LLADDR, macBytes(neighbour.hardwareAddress))
}

export function writeForwardingEntry(writer: NetlinkWriter, entry: ForwardingEntry): void {
  writeHeader(writer, AF_BRIDGE, entry.link, NTF_SELF)
  writer.attributeBytes(NDA_LLADDR, macBytes(entry.hardwareAddress))
  writer.attributeBytes(NDA_DST, ipBytes(entry.destination))
}

export const writeAnyNeighbour = (writer: NetlinkWriter, family: number) => writer.u8(family).zeros(HEADER_BYTES - 1)

export function readNeighbour(message: NetlinkMessage): Neighbour | undefined {
  const attributes = attributesOf(message.data, HEADER_BYTES)
  const address = attributes.get(NDA_DST)
  const hardwareAddress = attributes.get(NDA_LLADDR)
  const permanent = (message.data.readUInt16LE(8) & NUD_PERMANENT) !== 0
  if (!address || !hardwareAddress || !permanent) return undefined
  return {
    link: message.data.readUInt32LE(4),
    address: ipText(address),
    hardwareAddress: macText(hardwareAddress),
  }
}

export function readForwardingEntry(message: NetlinkMessage): ForwardingEntry | undefined {
  const attributes = attributesOf(message.data, HEADER_BYTES)
  const destination = attributes.get(NDA_DST)
  const hardwareAddress = attributes.get(NDA_LLADDR)
  if (!destination || !hardwareAddress) return undefined
  return {
    link: message.data.readUInt32LE(4),
    hardwareAddress: macText(hardwareAddress),
    destination: ipText(destination),
  }
}
