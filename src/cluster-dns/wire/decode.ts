import { formatIPv6 } from '../../base/ip-address.ts'
import { CLASS_IN, RCODES, TYPES } from './constants.ts'
import {
  type DnsRecord,
  type Edns,
  MalformedMessage,
  type Query,
  type Question,
  type RecordData,
  type Reply,
} from './message.ts'
import { readName } from './names.ts'

const HEADER = 12
const RESPONSE = 0x8000
const OPCODE = 0x7800
const AUTHORITATIVE = 0x0400
const TRUNCATED = 0x0200
const RECURSION_DESIRED = 0x0100
const CHECKING_DISABLED = 0x0010

/** Reads what a client sent. Throws MalformedMessage, with the id wherever one can be read. */
export function decodeQuery(packet: Buffer): Query {
  if (packet.length < HEADER) throw new MalformedMessage('shorter than a header', undefined)
  const id = packet.readUInt16BE(0)
  const flags = packet.readUInt16BE(2)
  if (flags & RESPONSE) throw new MalformedMessage('a response, not a query', undefined)
  if (flags & OPCODE) throw new MalformedMessage('an operation nobody here knows', id, RCODES.NOTIMP)
  if (packet.readUInt16BE(4) !== 1) throw new MalformedMessage('not exactly one question', id)
  try {
    const { question, asked, end } = readQuestion(packet)
    return {
      id,
      question,
      asked,
      recursionDesired: (flags & RECURSION_DESIRED) !== 0,
      checkingDisabled: (flags & CHECKING_DISABLED) !== 0,
      edns: readEdns(packet, end),
    }
  } catch (error) {
    if (error instanceof MalformedMessage) throw new MalformedMessage(error.message, id, error.rcode)
    throw error
  }
}

function readQuestion(packet: Buffer): { question: Question; asked: string; end: number } {
  const { name, end } = readName(packet, HEADER)
  if (end + 4 > packet.length) throw new MalformedMessage('a question without a type', undefined)
  const question = { name: name.toLowerCase(), type: packet.readUInt16BE(end), class: packet.readUInt16BE(end + 2) }
  return { question, asked: name, end: end + 4 }
}

/** The OPT record among the additional ones; there may be one at most. */
function readEdns(packet: Buffer, start: number): Edns | undefined {
  const before = packet.readUInt16BE(6) + packet.readUInt16BE(8)
  const additional = packet.readUInt16BE(10)
  let at = start
  let edns: Edns | undefined
  for (let i = 0; i < before + additional; i++) {
    const { name, end } = readName(packet, at)
    const { type, size, dataStart } = readFixedPart(packet, end)
    if (type === TYPES.OPT) {
      if (edns || name !== '') throw new MalformedMessage('more than one OPT record, or one with a name', undefined)
      const flags = packet.readUInt32BE(end + 4)
      edns = {
        udpSize: packet.readUInt16BE(end + 2),
        version: (flags >>> 16) & 0xff,
        dnssecOk: (flags & 0x8000) !== 0,
      }
    }
    at = dataStart + size
  }
  return edns
}

function readFixedPart(packet: Buffer, at: number) {
  if (at + 10 > packet.length) throw new MalformedMessage('a record leaves the packet', undefined)
  const size = packet.readUInt16BE(at + 8)
  if (at + 10 + size > packet.length) throw new MalformedMessage('a record leaves the packet', undefined)
  return {
    type: packet.readUInt16BE(at),
    class: packet.readUInt16BE(at + 2),
    ttl: packet.readUInt32BE(at + 4),
    size,
    dataStart: at + 10,
  }
}

/** A reply of another server. */
export interface DecodedReply {
  readonly id: number
  readonly question: Question | undefined
  /** The name in the question as it is written there. */
  readonly asked: string | undefined
  readonly truncated: boolean
  readonly reply: Reply
}

export function decodeReply(packet: Buffer): DecodedReply {
  if (packet.length < HEADER) throw new MalformedMessage('shorter than a header', undefined)
  const flags = packet.readUInt16BE(2)
  if (!(flags & RESPONSE)) throw new MalformedMessage('a query, not a response', undefined)
  const questions = packet.readUInt16BE(4)
  if (questions > 1) throw new MalformedMessage('more than one question', undefined)
  const asked = questions === 1 ? readQuestion(packet) : undefined
  let at = asked?.end ?? HEADER
  const section = (count: number) => {
    const records: DnsRecord[] = []
    for (let i = 0; i < count; i++) {
      const { record, end } = readRecord(packet, at)
      if (record) records.push(record)
      at = end
    }
    return records
  }
  const truncated = (flags & TRUNCATED) !== 0
  const answers = section(packet.readUInt16BE(6))
  const authority = section(packet.readUInt16BE(8))
  const additional = section(packet.readUInt16BE(10))
  const authoritative = (flags & AUTHORITATIVE) !== 0
  return {
    id: packet.readUInt16BE(0),
    question: asked?.question,
    asked: asked?.asked,
    truncated,
    reply: { rcode: flags & 0xf, authoritative, answers, authority, additional },
  }
}

/** OPT records are of one hop only and are left out. */
function readRecord(packet: Buffer, start: number): { record: DnsRecord | undefined; end: number } {
  const { name, end: fixed } = readName(packet, start)
  const { type, class: recordClass, ttl, size, dataStart } = readFixedPart(packet, fixed)
  const end = dataStart + size
  if (type === TYPES.OPT) return { record: undefined, end }
  const data = recordClass === CLASS_IN ? readData(packet, type, dataStart, end) : undefined
  const bytes = Uint8Array.prototype.slice.call(packet, dataStart, end)
  const raw = { type: 'raw', number: type, class: recordClass, bytes } as const
  return { record: { name: name.toLowerCase(), ttl: ttl > 0x7fffffff ? 0 : ttl, data: data ?? raw }, end }
}

/** Undefined for types whose data has no compressed names and is passed on as it is. */
function readData(packet: Buffer, type: number, start: number, end: number): RecordData | undefined {
  const target = (at: number) => readName(packet, at).name.toLowerCase()
  const wants = (size: number) => {
    if (end - start < size) throw new MalformedMessage('a record is too short', undefined)
  }
  switch (type) {
    case TYPES.A:
      wants(4)
      return { type: 'A', address: packet.subarray(start, start + 4).join('.') }
    case TYPES.AAAA:
      wants(16)
      return {
        type: 'AAAA',
        address: formatIPv6((packet.readBigUInt64BE(start) << 64n) | packet.readBigUInt64BE(start + 8)),
      }
    case TYPES.CNAME:
      return { type: 'CNAME', target: target(start) }
    case TYPES.NS:
      return { type: 'NS', target: target(start) }
    case TYPES.PTR:
      return { type: 'PTR', target: target(start) }
    case TYPES.MX:
      wants(3)
      return { type: 'MX', preference: packet.readUInt16BE(start), target: target(start + 2) }
    case TYPES.SRV:
      wants(7)
      return {
        type: 'SRV',
        priority: packet.readUInt16BE(start),
        weight: packet.readUInt16BE(start + 2),
        port: packet.readUInt16BE(start + 4),
        target: target(start + 6),
      }
    case TYPES.SOA:
      return readSoa(packet, start, end)
    default:
      return undefined
  }
}

function readSoa(packet: Buffer, start: number, end: number): RecordData {
  const mname = readName(packet, start)
  const rname = readName(packet, mname.end)
  if (rname.end + 20 > end) throw new MalformedMessage('a record is too short', undefined)
  const number = (index: number) => packet.readUInt32BE(rname.end + 4 * index)
  return {
    type: 'SOA',
    mname: mname.name.toLowerCase(),
    rname: rname.name.toLowerCase(),
    serial: number(0),
    refresh: number(1),
    retry: number(2),
    expire: number(3),
    minimum: number(4),
  }
}
