import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../../base/log.ts'
import { seededRandom } from '../../../base/random.ts'
import { emptyReply } from '../../plugin.ts'
import { CLASS_IN, RCODES, TYPES } from '../../wire/constants.ts'
import { decodeQuery } from '../../wire/decode.ts'
import { encodeQuery } from '../../wire/encode.ts'
import type { DnsRecord, Edns, Query, Reply } from '../../wire/message.ts'
import { createHandler } from '../handle.ts'
import { AnswerTable } from './answer-table.ts'
import { KeptAnswers } from './kept-answers.ts'
import { BUFFER_SIZE, type TableChange } from './worker-messages.ts'

const SERIAL = 4_000_000_001
const name = 'web.shop.svc.cluster.local'
const soa = (serial: number): DnsRecord => ({
  name: 'cluster.local',
  ttl: 30,
  data: {
    ...{ type: 'SOA', mname: 'ns.dns.cluster.local', rname: 'hostmaster.cluster.local', serial, refresh: 7200 },
    ...{ retry: 1800, expire: 86_400, minimum: 30 },
  },
})
const addresses = (count: number): DnsRecord[] =>
  Array.from({ length: count }, (_, i) => ({ name, ttl: 30, data: { type: 'A', address: `10.96.0.${i + 1}` } }))
const positive = (count: number): Reply => ({ ...emptyReply(RCODES.NOERROR, true), answers: addresses(count) })
const negative = (serial: number): Reply => ({ ...emptyReply(RCODES.NXDOMAIN, true), authority: [soa(serial)] })
const kept = (reply: Reply, ...dependsOn: string[]): Reply => ({ ...reply, keep: { dependsOn } })

function tableWith(...replies: readonly (readonly [string, Reply])[]) {
  const hits = new Float64Array(64)
  const table = new AnswerTable({ seed: 77, size: BUFFER_SIZE, hits })
  const answers = new KeptAnswers({ maxSize: BUFFER_SIZE, capacity: 3 })
  answers.add((change: TableChange) => {
    if ('keep' in change) table.set(change.keep, change.packets, change.slot)
    else if ('drop' in change) table.delete(change.drop)
    else table.clear()
  })
  for (const [about, reply] of replies) answers.keep(queryOf(about), reply)
  const ask = (packet: Buffer): Buffer | undefined => {
    // Not at the start of the memory, as most packets of a batch.
    const memory = new ArrayBuffer(100 + BUFFER_SIZE)
    const bytes = Buffer.from(memory)
    packet.copy(bytes, 100)
    const length = table.answer({ bytes, words: new Uint32Array(memory) }, 100, packet.length, SERIAL)
    return length === 0 ? undefined : bytes.subarray(100, 100 + length)
  }
  return { answers, hits, ask }
}

const queryOf = (about: string, type: number = TYPES.A): Query =>
  decodeQuery(encodeQuery({ id: 1, question: { name: about, type, class: CLASS_IN } }))

const packet = (options: { asked?: string; edns?: Edns; id?: number; type?: number; flags?: number } = {}) => {
  const { asked = name, edns, id = 0xbeef, type = TYPES.A, flags } = options
  const bytes = encodeQuery({ id, question: { name: asked, type, class: CLASS_IN }, edns })
  if (flags !== undefined) bytes.writeUInt16BE(flags, 2)
  return bytes
}
const edns = (udpSize: number, dnssecOk = false): Edns => ({ udpSize, version: 0, dnssecOk })

describe('the table answers as the plugins would', () => {
  it.each<[string, Reply, Buffer, boolean]>([
    ['a query', positive(1), packet(), true],
    ['with EDNS', positive(1), packet({ edns: edns(1232) }), true],
    ['with DNSSEC', positive(1), packet({ edns: edns(4096, true) }), true],
    ['without recursion', positive(1), packet({ flags: 0 }), true],
    ['with checking disabled, and authentic data', positive(1), packet({ flags: 0x0130 }), true],
    ['in large letters', positive(2), packet({ asked: 'WEB.shop.SVC.cluster.LOCAL' }), true],
    ['a name that is not there', negative(SERIAL), packet(), true],
    ['the same with EDNS', negative(SERIAL), packet({ edns: edns(512) }), true],
    ['more than fits into 512 bytes', positive(40), packet(), false],
    ['more than the client takes', positive(60), packet({ edns: edns(600) }), false],
    ['more, for who takes it', positive(60), packet({ edns: edns(1232) }), true],
    ['another version of EDNS', positive(1), packet({ edns: { ...edns(1232), version: 1 } }), false],
    ['a type that differs by the bit of large letters alone', positive(1), packet({ type: TYPES.SRV }), false],
    ['another name', positive(1), packet({ asked: `x${name}` }), false],
    ['another type', positive(1), packet({ type: TYPES.AAAA }), false],
    ['a notification', positive(1), packet({ flags: 0x2000 }), false],
  ])('%s', async (_, reply, query, isReady) => {
    const { ask } = tableWith([name, kept(reply)])
    const slow = createHandler({ answer: () => reply, log: silentLogger })
    const ready = ask(query)
    expect(ready !== undefined).toBe(isReady)
    if (ready)
      expect(ready.toString('hex')).toBe((await slow(query, { client: '', transport: 'udp' }))!.toString('hex'))
  })

  it('has the present serial in old answers', () => {
    const { ask } = tableWith([name, kept(negative(1))])
    expect(ask(packet())!.readUInt32BE(ask(packet())!.length - 20)).toBe(SERIAL)
  })

  it('takes turns', () => {
    const [first, second] = addresses(2) as [DnsRecord, DnsRecord]
    const orders = [
      [first, second],
      [second, first],
    ]
    const variants = () => orders.map((answers) => ({ ...positive(2), answers }))
    const { ask, hits } = tableWith([name, { ...positive(2), keep: { dependsOn: [], variants } }])
    expect([1, 2, 3, 4].map(() => ask(packet())!.at(-1))).toEqual([1, 2, 1, 2])
    expect(hits[0]).toBe(4)
  })
})

describe('what is kept', () => {
  it('goes when what it depends on changes', () => {
    const { ask, answers } = tableWith([name, kept(positive(1), 'shop/web', 'shop')], ['b', kept(positive(1), 'shop')])
    answers.changed('shop/db')
    expect([ask(packet()), ask(packet({ asked: 'b' }))].map(Boolean)).toEqual([true, true])
    answers.changed('shop/web')
    expect([ask(packet()), ask(packet({ asked: 'b' }))].map(Boolean)).toEqual([false, true])
    answers.changed('shop')
    expect(ask(packet({ asked: 'b' }))).toBeUndefined()
  })

  it('is replaced by what is newer, the oldest goes first, and all go at once', () => {
    const all = ['a', 'b', 'c', 'b', 'd'].map((about, i) => [about, kept(positive(i + 1))] as const)
    const { ask, answers } = tableWith(...all)
    const known = () => ['a', 'b', 'c', 'd'].map((asked) => ask(packet({ asked }))?.readUInt16BE(6))
    expect(known()).toEqual([undefined, 4, 3, 5])
    answers.clear()
    expect(known()).toEqual([undefined, undefined, undefined, undefined])
  })

  it.each<[string, Reply]>([
    ['what nobody said may be kept', positive(1)],
    ['what is too long', kept(positive(200))],
    ['an SOA that was asked for', kept({ ...emptyReply(0), answers: [soa(1)] })],
  ])('is not %s', (_, reply) => {
    expect(tableWith([name, reply]).ask(packet())).toBeUndefined()
  })
})

it('leaves 10,000 malformed packets to others, or answers a question that is in them', () => {
  const { ask } = tableWith([name, kept(positive(3))])
  const random = seededRandom(3)
  const upTo = (limit: number) => Math.floor(random.next() * limit)
  let answered = 0
  for (let i = 0; i < 10_000; i++) {
    const sample = packet({ edns: edns(1232) })
    const bytes = Buffer.from(sample.subarray(0, upTo(4) === 0 ? upTo(sample.length) : sample.length))
    for (let j = upTo(3); j > 0 && bytes.length > 0; j--) bytes[upTo(bytes.length)] = upTo(256)
    const answer = ask(bytes)
    if (!answer) continue
    answered++
    expect(decodeQuery(bytes).question).toEqual({ name, type: TYPES.A, class: CLASS_IN })
  }
  expect(answered).toBeGreaterThan(1000)
  expect(answered).toBeLessThan(9000)
})
