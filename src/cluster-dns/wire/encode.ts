import { parseIPv4, parseIPv6 } from '../../base/ip-address.ts'
import { CLASS_IN, TYPES } from './constants.ts'
import type { DnsRecord, Edns, Query, Question, RecordData, Reply } from './message.ts'
import { labelsOf } from './names.ts'

const HEADER = 12
const MAX_MESSAGE = 65_535
/** Where a pointer can lead at most. */
const MAX_POINTER = 0x3fff

export interface EncodeOptions {
  /** How long the packet may become; what does not fit is left out and the packet says so. */
  readonly maxSize: number
  /** Whether recursion is offered, as it is where a forwarder stands behind. */
  readonly recursionAvailable?: boolean
}

/** Our side of EDNS: larger packets would be cut to pieces on the way. */
export const OWN_UDP_SIZE = 1232

export function encodeReply(
  query: Pick<Query, 'id' | 'question' | 'asked' | 'recursionDesired' | 'checkingDisabled' | 'edns'>,
  reply: Reply,
  options: EncodeOptions,
): Buffer {
  const writer = new MessageWriter(Math.min(options.maxSize, MAX_MESSAGE) - (query.edns ? OPT_SIZE : 0))
  writer.question(query.asked, query.question)
  const counts = [reply.answers, reply.authority, reply.additional].map((records) =>
    writer.records(records, query.asked, query.question.name),
  )
  // Additional records are a courtesy: without them an answer is still whole.
  const truncated = counts[0]! < reply.answers.length || counts[1]! < reply.authority.length
  const flags =
    0x8000 |
    (reply.authoritative ? 0x0400 : 0) |
    (truncated ? 0x0200 : 0) |
    (query.recursionDesired ? 0x0100 : 0) |
    (options.recursionAvailable ? 0x0080 : 0) |
    (query.checkingDisabled ? 0x0010 : 0) |
    (reply.rcode & 0xf)
  const opt = query.edns ? { ...query.edns, udpSize: OWN_UDP_SIZE, version: 0 } : undefined
  return writer.finish({ id: query.id, flags, counts, opt, rcode: reply.rcode })
}

/** The answer to a packet of which only the id could be read. */
export function encodeFailure(id: number, rcode: number): Buffer {
  const packet = Buffer.alloc(HEADER)
  packet.writeUInt16BE(id, 0)
  packet.writeUInt16BE(0x8000 | rcode, 2)
  return packet
}

/** A query to another server. */
export function encodeQuery(query: {
  readonly id: number
  readonly question: Question
  readonly checkingDisabled?: boolean
  readonly edns?: Edns | undefined
}): Buffer {
  const writer = new MessageWriter(MAX_MESSAGE)
  writer.question(query.question.name, query.question)
  const flags = 0x0100 | (query.checkingDisabled ? 0x0010 : 0)
  return writer.finish({ id: query.id, flags, counts: [0, 0, 0], opt: query.edns, rcode: 0 })
}

const OPT_SIZE = 11

interface Finish {
  readonly id: number
  readonly flags: number
  readonly counts: readonly number[]
  readonly opt: Edns | undefined
  readonly rcode: number
}

class MessageWriter {
  #bytes = Buffer.allocUnsafe(512)
  #at = HEADER
  readonly #limit: number
  /** Where a name (or the end of one) stands already. */
  readonly #names = new Map<string, number>()

  constructor(limit: number) {
    this.#limit = limit
  }

  question(asked: string, { name, type, class: questionClass }: Question): void {
    this.#name(asked, name)
    this.#uint16(type)
    this.#uint16(questionClass)
  }

  /** Writes as many as fit; answers how many. Records of the name that was asked repeat its spelling. */
  records(records: readonly DnsRecord[], asked: string, name: string): number {
    for (const [index, record] of records.entries()) {
      const before = this.#at
      this.#record(record, record.name === name ? asked : record.name)
      if (this.#at <= this.#limit) continue
      this.#at = before
      for (const [known, at] of this.#names) if (at >= before) this.#names.delete(known)
      return index
    }
    return records.length
  }

  finish({ id, flags, counts, opt, rcode }: Finish): Buffer {
    if (opt) this.#opt(opt, rcode)
    const bytes = this.#bytes
    bytes.writeUInt16BE(id, 0)
    bytes.writeUInt16BE(flags, 2)
    bytes.writeUInt16BE(1, 4)
    bytes.writeUInt16BE(counts[0]!, 6)
    bytes.writeUInt16BE(counts[1]!, 8)
    bytes.writeUInt16BE(counts[2]! + (opt ? 1 : 0), 10)
    return bytes.subarray(0, this.#at)
  }

  #opt({ udpSize, version, dnssecOk }: Edns, rcode: number): void {
    this.#uint8(0)
    this.#uint16(TYPES.OPT)
    this.#uint16(udpSize)
    this.#uint8(rcode >> 4)
    this.#uint8(version)
    this.#uint16(dnssecOk ? 0x8000 : 0)
    this.#uint16(0)
  }

  #record({ name, ttl, data }: DnsRecord, written: string): void {
    this.#name(written, name)
    this.#uint16(data.type === 'raw' ? data.number : TYPES[data.type])
    this.#uint16(data.type === 'raw' ? data.class : CLASS_IN)
    this.#uint32(ttl)
    const start = this.#at
    this.#uint16(0)
    this.#data(data)
    this.#bytes.writeUInt16BE(this.#at - start - 2, start)
  }

  #data(data: RecordData): void {
    switch (data.type) {
      case 'A':
        this.#uint32(parseIPv4(data.address) ?? 0)
        return
      case 'AAAA':
        this.#uint128(parseIPv6(data.address) ?? 0n)
        return
      case 'CNAME':
      case 'NS':
      case 'PTR':
        this.#name(data.target, data.target)
        return
      case 'TXT':
        this.#texts(data.texts)
        return
      case 'MX':
        this.#uint16(data.preference)
        this.#name(data.target, data.target)
        return
      case 'SRV':
        for (const number of [data.priority, data.weight, data.port]) this.#uint16(number)
        // RFC 2782: the target is not compressed.
        this.#name(data.target, undefined)
        return
      case 'SOA':
        this.#name(data.mname, data.mname)
        this.#name(data.rname, data.rname)
        for (const number of [data.serial, data.refresh, data.retry, data.expire, data.minimum]) this.#uint32(number)
        return
      case 'raw':
        this.#raw(data.bytes)
        return
    }
  }

  /** `key` is the name in lower case, by which its parts are found again; without one nothing is compressed. */
  #name(written: string, key: string | undefined): void {
    const labels = labelsOf(written) ?? []
    let rest = key
    for (const label of labels) {
      const known = rest === undefined ? undefined : this.#names.get(rest)
      if (known !== undefined) {
        this.#uint16(0xc000 | known)
        return
      }
      if (rest !== undefined && this.#at <= MAX_POINTER) this.#names.set(rest, this.#at)
      this.#uint8(label.length)
      this.#raw(label)
      rest = rest === undefined ? undefined : afterLabel(rest)
    }
    this.#uint8(0)
  }

  #texts(texts: readonly string[]): void {
    for (const text of texts) {
      const bytes = Buffer.from(text).subarray(0, 255)
      this.#uint8(bytes.length)
      this.#raw(bytes)
    }
  }

  #room(size: number): number {
    const at = this.#at
    if (at + size > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, at + size))
      this.#bytes.copy(larger, 0, 0, at)
      this.#bytes = larger
    }
    this.#at += size
    return at
  }

  #raw(bytes: Uint8Array): void {
    // Making room may replace the buffer, so it comes first.
    const at = this.#room(bytes.length)
    this.#bytes.set(bytes, at)
  }

  #uint8(value: number): void {
    const at = this.#room(1)
    this.#bytes[at] = value
  }

  #uint16(value: number): void {
    const at = this.#room(2)
    this.#bytes.writeUInt16BE(value, at)
  }

  #uint32(value: number): void {
    const at = this.#room(4)
    this.#bytes.writeUInt32BE(value >>> 0, at)
  }

  #uint128(value: bigint): void {
    const at = this.#room(16)
    this.#bytes.writeBigUInt64BE(value >> 64n, at)
    this.#bytes.writeBigUInt64BE(value & 0xffff_ffff_ffff_ffffn, at + 8)
  }
}

/** The name behind its first label; a dot that is escaped ends no label. */
function afterLabel(name: string): string {
  for (let i = 0; i < name.length; i++) {
    if (name[i] === '\\') i++
    else if (name[i] === '.') return name.slice(i + 1)
  }
  return ''
}
