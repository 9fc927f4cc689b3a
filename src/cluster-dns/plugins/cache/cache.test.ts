import { afterEach, describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../base/virtual-clock.ts'
import { queryOf, shown } from '../../configuration.contract.ts'
import type { Directive } from '../../corefile/parse.ts'
import { parseCorefile } from '../../corefile/parse.ts'
import { DnsMetrics } from '../../dns-metrics.ts'
import { type Answer, type DnsPlugin, emptyReply } from '../../plugin.ts'
import { RCODES } from '../../wire/constants.ts'
import type { DnsRecord, Reply } from '../../wire/message.ts'
import { cachePlugin } from './cache.ts'
import { cacheOptions } from './options.ts'

const clock = new VirtualClock()
let cache: DnsPlugin | undefined
let asked = 0

afterEach(() => cache?.[Symbol.asyncDispose]())

const directive = (text: string): Directive => parseCorefile(`. {\n${text}\n}`)[0]!.directives[0]!

function withCache(text: string, metrics = new DnsMetrics()) {
  asked = 0
  cache = cachePlugin(cacheOptions(directive(text), ['']), { now: () => clock.now(), metrics })
  return (name: string, next: () => Answer, type = 'A') => {
    const query = queryOf(name, type)
    const request = { query, question: query.question, client: '', transport: 'udp', resolve: next } as const
    return cache!.answer(request, () => {
      asked++
      return next()
    })
  }
}

const positive = (ttl: number): Reply => ({
  ...emptyReply(RCODES.NOERROR),
  answers: [{ name: 'a.org', ttl, data: { type: 'A', address: '192.0.2.1' } }],
})
const soa = (ttl: number, minimum: number): DnsRecord => ({
  name: 'org',
  ttl,
  data: { type: 'SOA', mname: 'a', rname: 'b', serial: 1, refresh: 2, retry: 3, expire: 4, minimum },
})
const negative = (minimum: number): Reply => ({ ...emptyReply(RCODES.NXDOMAIN), authority: [soa(900, minimum)] })

describe('how long an answer is kept', () => {
  it.each<[string, string, Reply, number]>([
    ['by its TTL', 'cache', positive(60), 60],
    ['at most as long as it is said', 'cache 30', positive(60), 30],
    ['at least a little', 'cache', positive(1), 5],
    ['a name that is not there: by the SOA', 'cache', negative(20), 20],
    ['one without an SOA: not at all', 'cache', emptyReply(RCODES.NXDOMAIN), 0],
    ['a failure', 'cache', emptyReply(RCODES.SERVFAIL), 5],
    ['a failure, as it is said', 'cache {\n servfail 1s\n}', emptyReply(RCODES.SERVFAIL), 1],
    ['a refusal: not at all', 'cache', emptyReply(RCODES.REFUSED), 0],
    ['of another zone: not at all', 'cache 30 example.net', positive(60), 0],
    ['where it is disabled: not at all', 'cache {\n disable success org\n}', positive(60), 0],
    ['what tells when it changes: not at all', 'cache', { ...positive(60), keep: { dependsOn: [] } }, 0],
    ['what else is disabled does not matter', 'cache {\n disable denial org\n}', positive(60), 60],
  ])('%s (%s)', async (_, text, reply, seconds) => {
    const ask = withCache(text)
    await ask('a.org', () => reply)
    if (seconds > 0) {
      clock.advance(seconds * 1000 - 1)
      await ask('a.org', () => reply)
      expect(asked).toBe(1)
      clock.advance(1)
    }
    await ask('a.org', () => reply)
    expect(asked).toBe(2)
  })
})

describe('cache', () => {
  it('tells the rest of the life', async () => {
    const ask = withCache('cache')
    await ask('a.org', () => positive(60))
    clock.advance(20_000)
    expect(shown(await ask('a.org', () => positive(60)))).toBe('NOERROR a.org 40 A 192.0.2.1')
  })

  it('lets many askers wait for one answer', async () => {
    const ask = withCache('cache')
    let give = (_: Reply) => {}
    const answer = new Promise<Reply>((resolve) => {
      give = resolve
    })
    const all = [1, 2, 3].map(() => ask('a.org', () => answer))
    give(positive(60))
    expect((await Promise.all(all)).map(shown)).toEqual(Array(3).fill('NOERROR a.org 60 A 192.0.2.1'))
    expect(asked).toBe(1)
  })

  it('tells what has run out where nothing newer can be had, if told to', async () => {
    const ask = withCache('cache {\n serve_stale 1m\n}')
    await ask('a.org', () => positive(30))
    clock.advance(40_000)
    expect(shown(await ask('a.org', async () => emptyReply(RCODES.SERVFAIL)))).toBe('NOERROR a.org 0 A 192.0.2.1')
    const failing = () => Promise.reject(new Error('no network'))
    expect(shown(await ask('a.org', failing))).toBe('NOERROR a.org 0 A 192.0.2.1')
    clock.advance(60_000)
    await expect(ask('a.org', failing)).rejects.toThrow('no network')
  })

  it('holds so many and no more, and counts', async () => {
    const metrics = new DnsMetrics()
    const ask = withCache('cache {\n success 2\n}', metrics)
    for (const name of ['a.org', 'b.org', 'c.org', 'c.org', 'a.org']) await ask(name, () => positive(60))
    expect(asked).toBe(4)
    expect(metrics.expose()).toContain('coredns_cache_hits_total{server="dns://:53",type="success"} 1')
  })

  it('keeps types and names apart', async () => {
    const ask = withCache('cache')
    await ask('a.org', () => positive(60))
    await ask('a.org', () => negative(60), 'AAAA')
    await ask('b.org', () => positive(60))
    expect(asked).toBe(3)
  })
})
