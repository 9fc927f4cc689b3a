import { ipBytes, ipText, macBytes, macText } from '../netlink/addresses.ts'
import { type Attributes, attributesOf, be16In, type NetlinkMessage, nested, textIn, u32In } from '../netlink/reader.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'
import type { Link, LinkAttributes, LinkChange, NewLink, VethPeer, VxlanAttributes } from '../rtnetlink.ts'

export const RTM_NEWLINK = 16
export const RTM_DELLINK = 17
export const RTM_GETLINK = 18
export const RTM_SETLINK = 19

const IFLA_ADDRESS = 1
const IFLA_IFNAME = 3
const IFLA_MTU = 4
const IFLA_MASTER = 10
const IFLA_PROTINFO = 12
const IFLA_LINKINFO = 18
const IFLA_NET_NS_FD = 28
const IFLA_INFO_KIND = 1
const IFLA_INFO_DATA = 2
const IFLA_INFO_SLAVE_KIND = 4
const IFLA_INFO_SLAVE_DATA = 5
const IFLA_BRPORT_MODE = 4
const VETH_INFO_PEER = 1
const IFLA_VXLAN_ID = 1
const IFLA_VXLAN_LINK = 3
const IFLA_VXLAN_LOCAL = 4
const IFLA_VXLAN_LEARNING = 7
const IFLA_VXLAN_PORT = 15
const IFLA_VXLAN_LOCAL6 = 17
const IFF_UP = 1
const HEADER_BYTES = 16

interface LinkHeader {
  readonly index?: number
  readonly up?: boolean
  readonly family?: number
}

/** struct ifinfomsg; the last word says which flags are meant. */
export function writeLinkHeader(writer: NetlinkWriter, { index = 0, up, family = 0 }: LinkHeader): void {
  writer.u8(family).u8(0).u16(0).u32(index)
  writer.u32(up ? IFF_UP : 0).u32(up === undefined ? 0 : IFF_UP)
}

export function writeLinkName(writer: NetlinkWriter, name: string): void {
  writeLinkHeader(writer, {})
  writer.attributeString(IFLA_IFNAME, name)
}

export function writeNewLink(writer: NetlinkWriter, link: NewLink): void {
  writeLinkHeader(writer, { up: link.up || undefined })
  writeAttributes(writer, link)
  if (link.master) writer.attributeU32(IFLA_MASTER, link.master)
  writer.nest(IFLA_LINKINFO, () => {
    writer.attributeString(IFLA_INFO_KIND, link.kind)
    if (link.kind === 'veth') writer.nest(IFLA_INFO_DATA, () => writePeer(writer, link.peer))
    if (link.kind === 'vxlan') writer.nest(IFLA_INFO_DATA, () => writeVxlan(writer, link.vxlan))
  })
}

function writeAttributes(writer: NetlinkWriter, link: Partial<LinkAttributes>): void {
  if (link.name !== undefined) writer.attributeString(IFLA_IFNAME, link.name)
  if (link.mtu !== undefined) writer.attributeU32(IFLA_MTU, link.mtu)
  if (link.hardwareAddress !== undefined) writer.attributeBytes(IFLA_ADDRESS, macBytes(link.hardwareAddress))
}

/** The peer is a whole link message of its own, header included. It cannot be born up. */
function writePeer(writer: NetlinkWriter, peer: VethPeer): void {
  writer.nest(VETH_INFO_PEER, () => {
    writeLinkHeader(writer, {})
    writeAttributes(writer, peer)
    if (peer.namespace) writer.attributeU32(IFLA_NET_NS_FD, peer.namespace.fd)
  })
}

function writeVxlan(writer: NetlinkWriter, vxlan: VxlanAttributes): void {
  writer.attributeU32(IFLA_VXLAN_ID, vxlan.id)
  if (vxlan.device) writer.attributeU32(IFLA_VXLAN_LINK, vxlan.device)
  if (vxlan.local) {
    const local = ipBytes(vxlan.local)
    writer.attributeBytes(local.length === 4 ? IFLA_VXLAN_LOCAL : IFLA_VXLAN_LOCAL6, local)
  }
  writer.attributeU8(IFLA_VXLAN_LEARNING, vxlan.learning ? 1 : 0)
  writer.attributeBe16(IFLA_VXLAN_PORT, vxlan.port)
}

export function writeLinkChange(writer: NetlinkWriter, index: number, change: LinkChange): void {
  writeLinkHeader(writer, { index, up: change.up })
  writeAttributes(writer, change)
  if (change.master !== undefined) writer.attributeU32(IFLA_MASTER, change.master)
}

export function writeHairpin(writer: NetlinkWriter, index: number, family: number, hairpin: boolean): void {
  writeLinkHeader(writer, { index, family })
  writer.nest(IFLA_PROTINFO, () => writer.attributeU8(IFLA_BRPORT_MODE, hairpin ? 1 : 0))
}

export function readLink(message: NetlinkMessage): Link {
  const attributes = attributesOf(message.data, HEADER_BYTES)
  const info = nested(attributes, IFLA_LINKINFO)
  const kind = textIn(info, IFLA_INFO_KIND)
  const hardwareAddress = attributes.get(IFLA_ADDRESS)
  const master = u32In(attributes, IFLA_MASTER)
  const hairpin = readHairpin(info)
  return {
    index: message.data.readInt32LE(4),
    name: textIn(attributes, IFLA_IFNAME) ?? '',
    ...(kind && { kind }),
    up: (message.data.readUInt32LE(8) & IFF_UP) !== 0,
    mtu: u32In(attributes, IFLA_MTU) ?? 0,
    hardwareAddress: hardwareAddress ? macText(hardwareAddress) : '',
    ...(master && { master }),
    ...(hairpin !== undefined && { hairpin }),
    ...(kind === 'vxlan' && { vxlan: readVxlan(nested(info, IFLA_INFO_DATA)) }),
  }
}

function readHairpin(info: Attributes): boolean | undefined {
  if (textIn(info, IFLA_INFO_SLAVE_KIND) !== 'bridge') return undefined
  return nested(info, IFLA_INFO_SLAVE_DATA).get(IFLA_BRPORT_MODE)?.[0] === 1
}

function readVxlan(data: Attributes): VxlanAttributes {
  const local = data.get(IFLA_VXLAN_LOCAL) ?? data.get(IFLA_VXLAN_LOCAL6)
  const device = u32In(data, IFLA_VXLAN_LINK)
  return {
    id: u32In(data, IFLA_VXLAN_ID) ?? 0,
    port: be16In(data, IFLA_VXLAN_PORT) ?? 0,
    ...(local && { local: ipText(local) }),
    ...(device && { device }),
    learning: data.get(IFLA_VXLAN_LEARNING)?.[0] === 1,
  }
}
