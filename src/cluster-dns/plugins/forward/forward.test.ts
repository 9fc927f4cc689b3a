import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Clock, systemClock } from '../../../base/clock.ts'
import { systemRandom } from '../../../base/random.ts'
import { configured, type TestConfiguration } from '../../configuration.contract.ts'
import { emptyReply } from '../../plugin.ts'
import { decodeQuery } from '../../wire/decode.ts'
import { encodeReply } from '../../wire/encode.ts'
import { addresses, startUpstream, type TestUpstream } from '../upstream.contract.ts'

/** Real time, twenty times as fast: sockets are real here, and silence must not take seconds. */
const fast: Clock = { ...systemClock, after: (delay, callback) => systemClock.after(delay / 20, callback) }

let [first, second]: TestUpstream[] = []
let dns: TestConfiguration | undefined

beforeEach(async () => {
  first = await startUpstream()
  second = await startUpstream()
  first.answer = addresses(1)
  second.answer = addresses(2)
})

afterEach(async () => {
  await dns?.configuration[Symbol.asyncDispose]()
  await first?.[Symbol.asyncDispose]()
  await second?.[Symbol.asyncDispose]()
})

function forward(options = '', zone = '.') {
  dns = configured(`. {\n forward ${zone} 127.0.0.1:${first!.port} 127.0.0.1:${second!.port} {\n${options}\n}\n}`, {
    clock: fast,
  })
  return dns
}

describe('forward', () => {
  it('asks in order, by turns or at random', async () => {
    const { ask } = forward('policy sequential')
    for (let i = 0; i < 4; i++) await ask('a.org')
    expect([first!.asked.length, second!.asked.length]).toEqual([4, 0])
    const turns = forward('policy round_robin')
    for (let i = 0; i < 4; i++) await turns.ask('a.org')
    expect([first!.asked.length, second!.asked.length]).toEqual([6, 2])
    const random = forward()
    for (let i = 0; i < 30; i++) await random.ask('a.org')
    expect(second!.asked.length).toBeGreaterThan(5)
  })

  it('asks the next when one is silent, and leaves it aside until it answers again', async () => {
    const { ask, metrics } = forward('policy sequential')
    first!.answer = undefined
    for (let i = 0; i < 3; i++) expect(await ask('a.org')).toContain('192.0.2.2')
    const before = first!.asked.length
    expect(before).toBeGreaterThanOrEqual(2)
    await vi.waitFor(() => expect(metrics.expose()).toMatch(/healthcheck_failures_total\{.*\} [1-9]/))
    first!.answer = addresses(1)
    await vi.waitFor(async () => expect(await ask('a.org')).toBe('NOERROR a.org 60 A 192.0.2.1'))
    expect(first!.asked.some((asked) => asked === 'udp 2 ')).toBe(true)
  })

  it('fails when all are silent', async () => {
    const { ask } = forward()
    first!.answer = undefined
    second!.answer = undefined
    expect(await ask('a.org')).toBe('SERVFAIL')
  })

  it('asks again by TCP what did not fit, and at once where the client did or it is told to', async () => {
    const { ask } = forward('policy sequential')
    first!.answer = addresses(40)
    expect((await ask('a.org')).split(',')).toHaveLength(40)
    expect(first!.asked).toEqual(['udp 1 a.org', 'tcp 1 a.org'])
    await ask('b.org', 'A', 'tcp')
    await forward('policy sequential\n force_tcp').ask('c.org')
    expect(first!.asked.slice(2)).toEqual(['tcp 1 b.org', 'tcp 1 c.org'])
  })

  it('refuses more than may be under way', async () => {
    const { ask, metrics } = forward('max_concurrent 2')
    const answers = await Promise.all([ask('a.org'), ask('b.org'), ask('c.org')])
    expect(answers.filter((answer) => answer === 'REFUSED')).toHaveLength(1)
    expect(metrics.expose()).toContain('coredns_forward_max_concurrent_rejects_total 1')
  })

  it.each([
    ['a.example.org', 'NOERROR'],
    ['a.example.net', 'REFUSED'],
    ['a.except.example.org', 'REFUSED'],
  ])('%s of the zone and not of another: %s', async (name, expected) => {
    expect(await forward('except except.example.org', 'example.org').ask(name)).toContain(expected)
  })

  it.each([
    ['forward .', 'wants a zone and servers'],
    ['forward . one.one', "not an IP address or file: 'one.one'"],
    ['forward . tls://1.1.1.1', 'only plain DNS'],
    ['forward . 1.1.1.1 {\n policy best\n}', 'one of random, round_robin, sequential'],
    ['forward . 1.1.1.1 {\n max_concurrent many\n}', 'wants a number'],
    ['forward . 1.1.1.1 {\n turbo\n}', "unknown property 'turbo'"],
  ])('%s is refused', (line, problem) => {
    expect(() => configured(`. {\n${line}\n}`)).toThrow(problem)
  })
})

/** A server that answers each query by UDP with all of these packets, the id of the query put in where it is not said otherwise. */
async function startForger(packets: (query: Buffer) => Buffer[]): Promise<AsyncDisposable & { readonly port: number }> {
  const udp = createSocket('udp4').bind(0, '127.0.0.1')
  await once(udp, 'listening')
  udp.on('message', (query, from) => {
    for (const packet of packets(query)) udp.send(packet, from.port, from.address)
  })
  return {
    port: udp.address().port,
    async [Symbol.asyncDispose]() {
      udp.close()
    },
  }
}

describe('answers that forward does not believe', () => {
  const QUESTION = 12
  const answerOf = (query: Buffer, address: string, name?: string): Buffer => {
    const decoded = decodeQuery(query)
    const asked = name === undefined ? decoded : { ...decoded, asked: name, question: { ...decoded.question, name } }
    const records = [{ name: asked.question.name, ttl: 60, data: { type: 'A' as const, address } }]
    return encodeReply(asked, { ...emptyReply(0), answers: records }, { maxSize: 512 })
  }
  const forged = (query: Buffer) => answerOf(query, '192.0.2.66')
  const changed = (packet: Buffer, change: (packet: Buffer) => void) => {
    change(packet)
    return packet
  }
  it.each<[why: string, forge: (query: Buffer) => Buffer]>([
    [
      'of another id',
      (query) => changed(forged(query), (packet) => packet.writeUInt16BE(packet.readUInt16BE(0) ^ 1, 0)),
    ],
    ['to another name', (query) => answerOf(query, '192.0.2.66', 'b.org')],
    ['to the name in other letters', (query) => answerOf(query, '192.0.2.66', 'A.org')],
    ['to another type', (query) => changed(forged(query), (packet) => packet.writeUInt16BE(28, QUESTION + 7))],
    ['to another class', (query) => changed(forged(query), (packet) => packet.writeUInt16BE(3, QUESTION + 9))],
    [
      'to no question at all',
      (query) => {
        // The record of a.org follows the header at once.
        const record = Buffer.from('0161036f726700' + '00010001' + '0000003c' + '0004' + 'c0000242', 'hex')
        const packet = Buffer.concat([forged(query).subarray(0, QUESTION), record])
        packet.writeUInt16BE(0, 4)
        packet.writeUInt16BE(0, 10)
        return packet
      },
    ],
    ['that are questions', (query) => changed(forged(query), (packet) => packet.writeUInt8(packet[2]! & 0x7f, 2))],
    ['that are no message', () => Buffer.from('nonsense')],
  ])('are those %s', async (_, forge) => {
    await using server = await startForger((query) => [forge(query), answerOf(query, '192.0.2.1')])
    dns = configured(`. {\n forward . 127.0.0.1:${server.port}\n}`, { clock: fast })
    expect(await dns.ask('a.org')).toBe('NOERROR a.org 60 A 192.0.2.1')
  })

  it('are those of another port', async () => {
    const stranger = createSocket('udp4').bind(0, '127.0.0.1')
    await once(stranger, 'listening')
    const server = createSocket('udp4').bind(0, '127.0.0.1')
    await once(server, 'listening')
    server.on('message', (query, from) => {
      stranger.send(forged(query), from.port, from.address, () =>
        server.send(answerOf(query, '192.0.2.1'), from.port, from.address),
      )
    })
    dns = configured(`. {\n forward . 127.0.0.1:${server.address().port}\n}`, { clock: fast })
    expect(await dns.ask('a.org')).toBe('NOERROR a.org 60 A 192.0.2.1')
    stranger.close()
    server.close()
  })

  it('says what names beside the question are only for that question', async () => {
    const extra = { name: 'bank.org', ttl: 3600, data: { type: 'A' as const, address: '192.0.2.66' } }
    first!.answer = (query) => ({ ...addresses(1)(query), authority: [extra], additional: [extra] })
    dns = configured(`. {\n cache\n forward . 127.0.0.1:${first!.port}\n}`, { clock: fast })
    await dns.ask('a.org')
    first!.answer = addresses(2)
    expect(await dns.ask('bank.org')).toContain('192.0.2.1')
    expect(first!.asked).toEqual(['udp 1 a.org', 'udp 1 bank.org'])
  })

  it('asks each time with another id and from another port', async () => {
    const seen: { id: number; port: number }[] = []
    const server = createSocket('udp4').bind(0, '127.0.0.1')
    await once(server, 'listening')
    server.on('message', (query, from) => {
      seen.push({ id: query.readUInt16BE(0), port: from.port })
      server.send(answerOf(query, '192.0.2.1'), from.port, from.address)
    })
    dns = configured(`. {\n forward . 127.0.0.1:${server.address().port}\n}`, { clock: fast, random: systemRandom })
    for (let i = 0; i < 50; i++) await dns.ask('a.org')
    const steps = (of: (one: { id: number; port: number }) => number) =>
      new Set(seen.slice(1).map((one, i) => of(one) - of(seen[i]!))).size
    // A source that counts has one step; one that draws has about as many as there are draws.
    expect(steps(({ id }) => id)).toBeGreaterThan(40)
    expect(steps(({ port }) => port)).toBeGreaterThan(40)
    server.close()
  })
})
