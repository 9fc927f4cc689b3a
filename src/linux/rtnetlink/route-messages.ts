import { AF_INET, familyOf, ipBytes, ipText, prefixBytes } from '../netlink/addresses.ts'
import { attributesOf, type NetlinkMessage, u32In } from '../netlink/reader.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'
import { MAIN_TABLE, type Route } from '../rtnetlink.ts'

export const RTM_NEWROUTE = 24
export const RTM_DELROUTE = 25
export const RTM_GETROUTE = 26

const RTA_DST = 1
const RTA_OIF = 4
const RTA_GATEWAY = 5
const RTA_PRIORITY = 6
const RTA_PREFSRC = 7
const RTA_TABLE = 15
const RTNH_F_ONLINK = 4
const RTPROT_STATIC = 4
const SCOPE_UNIVERSE = 0
const SCOPE_LINK = 253
const SCOPE_HOST = 254
const SCOPE_NOWHERE = 255
const RTM_F_CLONED = 0x200
const HEADER_BYTES = 12
/** What the kernel gives an IPv6 route that asks for no metric. */
export const IPV6_DEFAULT_METRIC = 1024

const TYPES = { unicast: 1, local: 2, blackhole: 6, unreachable: 7, prohibit: 8 } as const
const TYPE_NAMES = new Map(Object.entries(TYPES).map(([name, type]) => [type as number, name as keyof typeof TYPES]))

/** struct rtmsg and its attributes. To delete, protocol and scope are left open. */
export function writeRoute(writer: NetlinkWriter, route: Route, purpose: 'set' | 'delete'): void {
  const { bytes, length } = prefixBytes(route.destination)
  const table = route.table ?? MAIN_TABLE
  const deleting = purpose === 'delete'
  writer.u8(familyOf(bytes)).u8(length).u8(0).u8(0)
  writer.u8(table > 255 ? 0 : table).u8(deleting ? 0 : RTPROT_STATIC)
  writer.u8(deleting ? SCOPE_NOWHERE : scopeOf(route)).u8(deleting && !route.type ? 0 : TYPES[route.type ?? 'unicast'])
  writer.u32(route.onlink ? RTNH_F_ONLINK : 0)
  if (length > 0) writer.attributeBytes(RTA_DST, bytes)
  if (table > 255) writer.attributeU32(RTA_TABLE, table)
  if (route.gateway) writer.attributeBytes(RTA_GATEWAY, ipBytes(route.gateway))
  if (route.link) writer.attributeU32(RTA_OIF, route.link)
  if (route.source) writer.attributeBytes(RTA_PREFSRC, ipBytes(route.source))
  if (route.metric) writer.attributeU32(RTA_PRIORITY, route.metric)
}

function scopeOf(route: Route): number {
  if (route.type === 'local') return SCOPE_HOST
  return route.gateway || (route.type ?? 'unicast') !== 'unicast' ? SCOPE_UNIVERSE : SCOPE_LINK
}

export const writeAnyRoute = (writer: NetlinkWriter, family: number) => writer.u8(family).zeros(HEADER_BYTES - 1)

/** Undefined for what is no route that one sets: caches, multicast, anycast. */
export function readRoute(message: NetlinkMessage): Route | undefined {
  const { data } = message
  const type = TYPE_NAMES.get(data[7]!)
  if (!type || data.readUInt32LE(8) & RTM_F_CLONED) return undefined
  const attributes = attributesOf(data, HEADER_BYTES)
  const destination = attributes.get(RTA_DST)
  const gateway = attributes.get(RTA_GATEWAY)
  const source = attributes.get(RTA_PREFSRC)
  // IPv6 puts routes that lead nowhere on the loopback link.
  const link = type === 'unicast' || type === 'local' ? u32In(attributes, RTA_OIF) : undefined
  const metric = u32In(attributes, RTA_PRIORITY)
  const table = u32In(attributes, RTA_TABLE) ?? data[4]!
  const anywhere = data[0] === AF_INET ? '0.0.0.0' : '::'
  return {
    destination: `${destination ? ipText(destination) : anywhere}/${data[1]}`,
    ...(gateway && { gateway: ipText(gateway) }),
    ...(link && { link }),
    ...(data.readUInt32LE(8) & RTNH_F_ONLINK && { onlink: true }),
    ...(source && { source: ipText(source) }),
    ...(metric && !(data[0] !== AF_INET && metric === IPV6_DEFAULT_METRIC) && { metric }),
    ...(table !== MAIN_TABLE && { table }),
    ...(type !== 'unicast' && { type }),
  }
}
