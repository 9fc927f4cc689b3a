import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../base/random.ts'
import { CLASS_IN, RCODES, TYPES } from './constants.ts'
import { decodeQuery, decodeReply } from './decode.ts'
import { encodeFailure, encodeQuery, encodeReply } from './encode.ts'
import { type DnsRecord, MalformedMessage, type Query, type Reply } from './message.ts'
import { canonicalName, isWithin, labelsOf, parentOf } from './names.ts'

const question = { name: 'web.shop.svc.cluster.local', type: TYPES.A, class: CLASS_IN }
const edns = { udpSize: 1232, version: 0, dnssecOk: false }
const query: Query = {
  id: 4711,
  question,
  asked: 'WEB.shop.SVC.cluster.local',
  recursionDesired: true,
  checkingDisabled: false,
  edns: undefined,
}
const replyOf = (answers: readonly DnsRecord[]): Reply => ({
  rcode: RCODES.NOERROR,
  authoritative: true,
  answers,
  authority: [],
  additional: [],
})
const record = (data: DnsRecord['data'], name = question.name): DnsRecord => ({ name, ttl: 30, data })
const addresses = (count: number) =>
  Array.from({ length: count }, (_, i) => record({ type: 'A', address: `10.0.${i >> 8}.${i & 255}` }))

describe('records', () => {
  it.each<[DnsRecord['data']]>([
    [{ type: 'A', address: '10.96.0.1' }],
    [{ type: 'AAAA', address: 'fd00::1' }],
    [{ type: 'CNAME', target: 'db.shop.svc.cluster.local' }],
    [{ type: 'NS', target: 'ns.dns.cluster.local' }],
    [{ type: 'PTR', target: 'web.shop.svc.cluster.local' }],
    [{ type: 'TXT', texts: ['1.1.0', 'two'] }],
    [{ type: 'MX', preference: 10, target: 'mail.cluster.local' }],
    [{ type: 'SRV', priority: 0, weight: 50, port: 443, target: 'db-0.db.shop.svc.cluster.local' }],
    [
      {
        ...{ type: 'SOA', mname: 'ns.dns.cluster.local', rname: 'hostmaster.cluster.local', serial: 4_000_000_000 },
        ...{ refresh: 7200, retry: 1800, expire: 86_400, minimum: 30 },
      },
    ],
    [{ type: 'raw', number: 257, class: CLASS_IN, bytes: Buffer.from([1, 2, 3]) }],
  ])('%o comes back as it was', (data) => {
    const packet = encodeReply(query, replyOf([record(data)]), { maxSize: 512 })
    const decoded = decodeReply(packet)
    expect(decoded.question).toEqual(question)
    const expected = data.type === 'TXT' ? { type: 'raw', number: 16, class: 1 } : data
    expect(decoded.reply.answers).toMatchObject([{ name: question.name, ttl: 30, data: expected }])
  })

  it('passes on a record that is longer than the buffer it began with', () => {
    const data = { type: 'raw', number: 257, class: CLASS_IN, bytes: Buffer.alloc(600, 7) } as const
    const packet = encodeReply(query, replyOf([record(data)]), { maxSize: 1232 })
    expect(decodeReply(packet).reply.answers).toMatchObject([{ data: { bytes: data.bytes } }])
  })

  it('repeats the letters of the question, and writes a name once only', () => {
    const packet = encodeReply(query, replyOf(addresses(2)), { maxSize: 512 })
    expect(packet.toString('latin1').match(/WEB/g)).toHaveLength(1)
    expect(packet.length).toBe(12 + 28 + 4 + 2 * 16)
  })
})

describe('size', () => {
  it.each([
    [10, 512, 10, false],
    [40, 512, 29, true],
    [40, 1232, 40, false],
    [40, 65_535, 40, false],
  ])('%i addresses in %i bytes are %i', (count, maxSize, expected, isCut) => {
    const packet = encodeReply(query, replyOf(addresses(count)), { maxSize })
    const { reply, truncated } = decodeReply(packet)
    expect([reply.answers.length, truncated]).toEqual([expected, isCut])
    expect(packet.length).toBeLessThanOrEqual(maxSize)
  })

  it('leaves room for EDNS, and leaves additional records out without a word', () => {
    const reply = { ...replyOf(addresses(28)), additional: addresses(20) }
    const packet = encodeReply({ ...query, edns: { ...edns, udpSize: 512 } }, reply, { maxSize: 512 })
    const decoded = decodeReply(packet)
    expect([decoded.reply.answers.length, decoded.truncated]).toEqual([28, false])
    expect(decoded.reply.additional.length).toBeLessThan(20)
    expect(packet.length).toBeLessThanOrEqual(512)
  })
})

describe('queries', () => {
  it.each([
    ['without EDNS', undefined],
    ['with EDNS', edns],
    ['with DNSSEC', { udpSize: 4096, version: 0, dnssecOk: true }],
    ['with another version of EDNS', { udpSize: 512, version: 1, dnssecOk: false }],
  ])('%s', (_, sent) => {
    const decoded = decodeQuery(encodeQuery({ id: 7, question, edns: sent }))
    expect(decoded).toMatchObject({ id: 7, question, recursionDesired: true })
    expect(decoded.edns).toEqual(sent)
  })

  const valid = encodeQuery({ id: 7, question, edns })
  const changed = (change: (packet: Buffer) => void) => {
    const packet = Buffer.from(valid)
    change(packet)
    return packet
  }
  it.each<[string, Buffer, number | undefined, number]>([
    ['nothing', Buffer.alloc(0), undefined, 1],
    ['a part of a header', valid.subarray(0, 11), undefined, 1],
    ['a response', changed((packet) => packet.writeUInt8(0x80, 2)), undefined, 1],
    ['an update', changed((packet) => packet.writeUInt8(0x28, 2)), 7, RCODES.NOTIMP],
    ['no question', changed((packet) => packet.writeUInt16BE(0, 4)), 7, 1],
    ['two questions', changed((packet) => packet.writeUInt16BE(2, 4)), 7, 1],
    ['a question without a type', valid.subarray(0, 41), 7, 1],
    ['a name that points to itself', changed((packet) => packet.writeUInt16BE(0xc00c, 12)), 7, 1],
    ['a name that points forward', changed((packet) => packet.writeUInt16BE(0xc014, 12)), 7, 1],
    ['a label of a kind that is not used', changed((packet) => packet.writeUInt8(0x80, 12)), 7, 1],
    ['more records than there are', changed((packet) => packet.writeUInt16BE(9, 10)), 7, 1],
    ['two OPT records', Buffer.concat([changed((packet) => packet.writeUInt16BE(2, 10)), valid.subarray(-11)]), 7, 1],
  ])('%s is malformed', (_, packet, id, rcode) => {
    expect(() => decodeQuery(packet)).toThrow(MalformedMessage)
    expect(thrownBy(() => decodeQuery(packet))).toMatchObject({ id, rcode })
  })

  it('tells the asker what it can', () => {
    expect([...encodeFailure(0x1234, RCODES.FORMERR)]).toEqual([0x12, 0x34, 0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0])
  })
})

function thrownBy(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}

describe('10,000 malformed packets', () => {
  const soa: DnsRecord['data'] = {
    ...{
      type: 'SOA' as const,
      mname: 'ns.dns.cluster.local',
      rname: 'a.b',
      serial: 1,
      refresh: 2,
      retry: 3,
      expire: 4,
    },
    minimum: 5,
  }
  const samples = [
    encodeQuery({ id: 7, question, edns }),
    encodeReply({ ...query, edns }, replyOf([...addresses(3), record(soa)]), { maxSize: 512 }),
    encodeReply(query, replyOf([record({ type: 'SRV', priority: 1, weight: 2, port: 3, target: 'a.b' })]), {
      maxSize: 512,
    }),
  ]

  it.each([
    ['queries', decodeQuery],
    ['replies', decodeReply],
  ])('%s are read or refused, and nothing else happens', (_, decode) => {
    const random = seededRandom(7)
    let refused = 0
    for (let i = 0; i < 10_000; i++) {
      const packet = damaged(samples[i % samples.length]!, random)
      const error = thrownBy(() => decode(packet))
      if (error === undefined) continue
      refused++
      expect(error).toBeInstanceOf(MalformedMessage)
    }
    expect(refused).toBeGreaterThan(2000)
  })
})

/** Bytes changed, cut off or added, or all of them random. */
function damaged(sample: Buffer, random: Random): Buffer {
  const upTo = (limit: number) => Math.floor(random.next() * limit)
  if (upTo(10) === 0) return Buffer.from(Array.from({ length: upTo(100) }, () => upTo(256)))
  const packet = Buffer.from(sample.subarray(0, upTo(3) === 0 ? upTo(sample.length) : sample.length))
  for (let i = upTo(6); i >= 0 && packet.length > 0; i--) packet[upTo(packet.length)] = upTo(256)
  return packet
}

describe('names', () => {
  it.each([
    ['a.b', ['a', 'b']],
    ['', []],
    ['a\\.b.c', ['a.b', 'c']],
    ['\\065.c', ['A', 'c']],
    ['a..b', undefined],
    [`${'x'.repeat(64)}.c`, undefined],
    [Array(130).fill('x').join('.'), undefined],
  ])('%s', (name, labels) => {
    expect(labelsOf(name)?.map(String)).toEqual(labels)
  })

  it.each([
    ['a.b', 'b', true],
    ['b', 'b', true],
    ['ab', 'b', false],
    ['b', 'a.b', false],
    ['b', '', true],
  ])('%s within %s: %s', (name, zone, expected) => {
    expect(isWithin(name, zone)).toBe(expected)
  })

  it('have parents and one spelling', () => {
    expect([parentOf('a.b'), parentOf('b'), parentOf('')]).toEqual(['b', '', undefined])
    expect(canonicalName('Example.COM.')).toBe('example.com')
  })
})
