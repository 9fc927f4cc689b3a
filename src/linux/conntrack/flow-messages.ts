import type { Flow, FlowFilter, FlowTuple, NewFlow } from '../conntrack.ts'
import { FLOW_STATUS } from '../conntrack.ts'
import { AF_INET, AF_INET6, ipBytes, ipText } from '../netlink/addresses.ts'
import { attributesOf, be16In, be32In, type NetlinkMessage, nested } from '../netlink/reader.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'

const SUBSYSTEM = 1 << 8
export const NEW_FLOW = SUBSYSTEM | 0
export const GET_FLOWS = SUBSYSTEM | 1
export const DELETE_FLOW = SUBSYSTEM | 2

const CTA_TUPLE_ORIGINAL = 1
const CTA_TUPLE_REPLY = 2
const CTA_STATUS = 3
const CTA_TIMEOUT = 7
const CTA_MARK = 8
const CTA_ID = 12
const CTA_FILTER = 25
const TUPLE_IP = 1
const TUPLE_PROTOCOL = 2
const IP_SOURCE = { 4: 1, 16: 3 } as const
const IP_DESTINATION = { 4: 2, 16: 4 } as const
const PROTOCOL_NUMBER = 1
const PROTOCOL_SOURCE_PORT = 2
const PROTOCOL_DESTINATION_PORT = 3
const FILTER_ORIGINAL_FLAGS = 1
const FILTER_REPLY_FLAGS = 2
/** Which parts of the tuple the kernel compares. */
const COMPARE = { destination: 2, protocol: 8, destinationPort: 32 } as const

const sizeOf = (bytes: Uint8Array) => bytes.length as 4 | 16

export const flowFamily = (family: 'ip' | 'ip6') => (family === 'ip' ? AF_INET : AF_INET6)

const writeFamily = (to: NetlinkWriter, family: number) => to.u8(family).u8(0).be16(0)

function writeTuple(to: NetlinkWriter, attribute: number, tuple: FlowTuple): void {
  const source = ipBytes(tuple.source)
  const destination = ipBytes(tuple.destination)
  to.nest(attribute, () => {
    to.nest(TUPLE_IP, () =>
      to
        .attributeBytes(IP_SOURCE[sizeOf(source)], source)
        .attributeBytes(IP_DESTINATION[sizeOf(destination)], destination),
    )
    to.nest(TUPLE_PROTOCOL, () =>
      to
        .attributeU8(PROTOCOL_NUMBER, tuple.protocol)
        .attributeBe16(PROTOCOL_SOURCE_PORT, tuple.sourcePort)
        .attributeBe16(PROTOCOL_DESTINATION_PORT, tuple.destinationPort),
    )
  })
}

const familyOfTuple = (tuple: FlowTuple) => (tuple.source.includes(':') ? AF_INET6 : AF_INET)

export function writeNewFlow(to: NetlinkWriter, flow: NewFlow): void {
  writeFamily(to, familyOfTuple(flow.original))
  writeTuple(to, CTA_TUPLE_ORIGINAL, flow.original)
  writeTuple(to, CTA_TUPLE_REPLY, flow.reply)
  to.attributeBe32(CTA_STATUS, FLOW_STATUS.seenReply | FLOW_STATUS.confirmed)
  to.attributeBe32(CTA_TIMEOUT, flow.timeoutSeconds)
  if (flow.mark) to.attributeBe32(CTA_MARK, flow.mark)
}

/** The id keeps a flow that was made anew with the same tuple alive. */
export function writeFlowName(to: NetlinkWriter, flow: Pick<Flow, 'original' | 'id'>): void {
  writeFamily(to, familyOfTuple(flow.original))
  writeTuple(to, CTA_TUPLE_ORIGINAL, flow.original)
  to.attributeBe32(CTA_ID, flow.id)
}

/** CTA_FILTER came with Linux 5.8; whoever is older sends more than was asked for. */
export function writeFilter(to: NetlinkWriter, family: 'ip' | 'ip6', filter: FlowFilter | undefined): void {
  writeFamily(to, flowFamily(family))
  if (!filter) return
  const { protocol, destination, destinationPort } = filter
  to.nest(CTA_TUPLE_ORIGINAL, () => {
    if (destination !== undefined) {
      const bytes = ipBytes(destination)
      to.nest(TUPLE_IP, () => to.attributeBytes(IP_DESTINATION[sizeOf(bytes)], bytes))
    }
    to.nest(TUPLE_PROTOCOL, () => {
      to.attributeU8(PROTOCOL_NUMBER, protocol)
      if (destinationPort !== undefined) to.attributeBe16(PROTOCOL_DESTINATION_PORT, destinationPort)
    })
  })
  const compared =
    COMPARE.protocol |
    (destination === undefined ? 0 : COMPARE.destination) |
    (destinationPort === undefined ? 0 : COMPARE.destinationPort)
  to.nest(CTA_FILTER, () => to.attributeU32(FILTER_ORIGINAL_FLAGS, compared).attributeU32(FILTER_REPLY_FLAGS, 0))
}

export const passesFilter = ({ original }: Flow, filter: FlowFilter | undefined) =>
  !filter ||
  (original.protocol === filter.protocol &&
    (filter.destination === undefined || original.destination === filter.destination) &&
    (filter.destinationPort === undefined || original.destinationPort === filter.destinationPort))

export function readFlow(message: NetlinkMessage): Flow {
  const attributes = attributesOf(message.data, 4)
  const timeoutSeconds = be32In(attributes, CTA_TIMEOUT)
  return {
    original: readTuple(attributes.get(CTA_TUPLE_ORIGINAL)!),
    reply: readTuple(attributes.get(CTA_TUPLE_REPLY)!),
    id: be32In(attributes, CTA_ID) ?? 0,
    status: be32In(attributes, CTA_STATUS) ?? 0,
    mark: be32In(attributes, CTA_MARK) ?? 0,
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
  }
}

function readTuple(bytes: Buffer): FlowTuple {
  const attributes = attributesOf(bytes)
  const ip = nested(attributes, TUPLE_IP)
  const protocol = nested(attributes, TUPLE_PROTOCOL)
  return {
    source: ipText((ip.get(IP_SOURCE[4]) ?? ip.get(IP_SOURCE[16]))!),
    destination: ipText((ip.get(IP_DESTINATION[4]) ?? ip.get(IP_DESTINATION[16]))!),
    protocol: protocol.get(PROTOCOL_NUMBER)?.[0] ?? 0,
    sourcePort: be16In(protocol, PROTOCOL_SOURCE_PORT) ?? 0,
    destinationPort: be16In(protocol, PROTOCOL_DESTINATION_PORT) ?? 0,
  }
}
