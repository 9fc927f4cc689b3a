import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Clock, systemClock } from '../../../base/clock.ts'
import { configured, type TestConfiguration } from '../../configuration.contract.ts'
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
