import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { createLogger, type Logger } from '../../base/log.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { configured, type TestConfiguration } from '../configuration.contract.ts'

let folder = ''
let lines: string[] = []
let log: Logger
const clock = new VirtualClock()
const open: TestConfiguration[] = []

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'sampan-dns-'))
  lines = []
  log = createLogger({ level: 'info', format: 'text', now: () => 0, write: (line) => lines.push(line) })
})

afterEach(async () => {
  for (const one of open.splice(0)) await one.configuration[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

function use(...directives: string[]): TestConfiguration {
  const made = configured(`. {\n${directives.join('\n')}\n}`, { clock, log })
  open.push(made)
  return made
}

const HOSTS = 'hosts /dev/null {\n 10.0.0.1 a.org www.a.org\n 10.0.0.2 a.org\n fd00::1 a.org\n ttl 60\n no_reverse\n}'

describe('hosts', () => {
  it.each([
    ['a.org', 'A', 'NOERROR a.org 60 A 10.0.0.1, a.org 60 A 10.0.0.2'],
    ['A.ORG', 'AAAA', 'NOERROR a.org 60 AAAA fd00::1'],
    ['www.a.org', 'AAAA', 'NOERROR'],
    ['b.org', 'A', 'NXDOMAIN'],
    ['1.0.0.10.in-addr.arpa', 'PTR', 'NXDOMAIN'],
  ])('%s %s', async (name, type, expected) => {
    expect(await use(HOSTS).ask(name, type)).toBe(expected)
  })

  it('reads a file, and again when it changes', async () => {
    const file = path.join(folder, 'hosts')
    writeFileSync(file, '# mine\n10.0.0.1 a.org # yes\nnonsense b.org\n')
    const { ask } = use(`hosts ${file} {\n fallthrough\n}`)
    expect(await ask('a.org')).toBe('NOERROR a.org 3600 A 10.0.0.1')
    expect(await ask('1.0.0.10.in-addr.arpa', 'PTR')).toBe('NOERROR 1.0.0.10.in-addr.arpa 3600 PTR a.org')
    expect(await ask('b.org')).toBe('REFUSED')
    writeFileSync(file, '10.0.0.3 a.org\n')
    clock.advance(5000)
    expect(await ask('a.org')).toBe('NOERROR a.org 3600 A 10.0.0.3')
  })
})

describe('rewrite', () => {
  it.each([
    ['rewrite name www.b.org a.org', 'www.b.org', 'www.b.org'],
    ['rewrite name exact www.b.org a.org', 'www.b.org', 'www.b.org'],
    ['rewrite name prefix x- ""', 'x-a.org', 'x-a.org'],
    ['rewrite name suffix .net .org', 'a.net', 'a.net'],
    ['rewrite name substring middle a', 'middle.org', 'middle.org'],
    ['rewrite name regex (.*)\\.example\\.(net|com) {1}.org', 'a.example.com', 'a.example.com'],
    ['rewrite continue name b.org c.org\nrewrite name c.org a.org', 'b.org', 'b.org'],
    ['rewrite {\n name b.org a.org\n}', 'b.org', 'b.org'],
  ])('%s', async (rule, name, answered) => {
    const expected = `NOERROR ${answered} 60 A 10.0.0.1, ${answered} 60 A 10.0.0.2`
    expect(await use(rule, HOSTS).ask(name)).toBe(expected)
  })

  it.each([
    ['rewrite type AAAA A', 'AAAA', 'NOERROR a.org 60 A 10.0.0.1, a.org 60 A 10.0.0.2'],
    ['rewrite ttl a.org 5', 'AAAA', 'NOERROR a.org 5 AAAA fd00::1'],
    ['rewrite ttl suffix org 90-', 'AAAA', 'NOERROR a.org 90 AAAA fd00::1'],
    ['rewrite ttl suffix net 90-', 'AAAA', 'NOERROR a.org 60 AAAA fd00::1'],
  ])('%s', async (rule, type, expected) => {
    expect(await use(rule, HOSTS).ask('a.org', type)).toBe(expected)
  })

  it.each([
    ['rewrite', 'wants a rule'],
    ['rewrite name a.org', 'wants two values'],
    ['rewrite edns0 x y', 'one of name, type, class, ttl'],
    ['rewrite type A XYZ', "'XYZ' is not a type"],
    ['rewrite ttl a.org soon', 'not a TTL'],
    ['rewrite name regex ( x', 'not a regular expression'],
    ['rewrite name a.org b.org answer', "'answer auto'"],
  ])('%s is refused', (rule, problem) => {
    expect(() => use(rule)).toThrow(problem)
  })
})

describe('loadbalance', () => {
  it('turns addresses round', async () => {
    const { ask } = use('loadbalance', HOSTS)
    const seen = new Set<string>()
    for (let i = 0; i < 50; i++) seen.add(await ask('a.org'))
    expect([...seen].sort()).toEqual([
      'NOERROR a.org 60 A 10.0.0.1, a.org 60 A 10.0.0.2',
      'NOERROR a.org 60 A 10.0.0.2, a.org 60 A 10.0.0.1',
    ])
  })

  it('knows one policy', () => {
    expect(() => use('loadbalance weighted')).toThrow('round_robin')
  })
})

describe('log and errors', () => {
  it('tells each query, or those of a class and a zone', async () => {
    const { ask } = use('log org {\n class denial\n}', HOSTS)
    await ask('a.org')
    await ask('b.org')
    await ask('b.net')
    expect(lines.join('')).toContain('10.0.0.9 - 1 "A IN b.org. udp false 512" NXDOMAIN 0 0.000s')
    expect(lines).toHaveLength(1)
  })

  it('must see every query', () => {
    expect(use('log').configuration.plugins.some(({ seesAll }) => seesAll)).toBe(true)
  })

  it('fails gently, and tells errors of a kind once in a while', async () => {
    const errors = use('errors {\n consolidate 1m ".*b\\.org.*"\n}').configuration.plugins[0]!
    const made = (name: string) => ({ question: { name, type: 1, class: 1 } }) as Parameters<typeof errors.answer>[0]
    for (const name of ['a.org', 'b.org', 'b.org']) {
      expect(await errors.answer(made(name), () => Promise.reject(new Error('out of order')))).toMatchObject({
        rcode: 2,
      })
    }
    expect(lines.join('')).toContain('a.org. A: out of order')
    expect(lines).toHaveLength(1)
    clock.advance(60_000)
    expect(lines[1]).toContain("2 errors like '.*b\\.org.*' occurred in last 1m")
  })
})

describe('HTTP', () => {
  it('health, ready and metrics tell how it goes', async () => {
    const ports = [await freePort(), await freePort(), await freePort()] as const
    const corefile = `. {\n health :${ports[0]}\n ready :${ports[1]}\n prometheus :${ports[2]}\n${HOSTS}\n}`
    const made = configured(corefile, { clock: systemClock, log })
    open.push(made)
    await made.configuration.start()
    await made.ask('a.org')
    const page = async (port: number, name: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${name}`)
      return `${answer.status} ${await answer.text()}`
    }
    expect(await page(ports[0], '/health')).toBe('200 OK')
    expect(await page(ports[1], '/ready')).toBe('200 OK')
    Object.assign(made.configuration.plugins[0]!, { notReady: () => 'kubernetes' })
    expect(await page(ports[1], '/ready')).toBe('503 kubernetes')
    const metrics = await page(ports[2], '/metrics')
    const labels = 'server="dns://:53",zone=".",view=""'
    expect(metrics).toContain(`coredns_dns_requests_total{${labels},proto="udp",family="1",type="A"} 1`)
    expect(metrics).toContain(`coredns_dns_responses_total{${labels},rcode="NOERROR"} 1`)
    expect(await page(ports[2], '/else')).toBe('404 404 page not found\n')
    // A port that is taken is no reason not to serve names.
    const other = configured(corefile, { clock: systemClock, log })
    open.push(other)
    await other.configuration.start()
    expect(lines.join('')).toContain('cannot be opened')
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

describe('a Corefile', () => {
  it.each([
    ['. {\n magic\n}', "Corefile:2 - Error during parsing: Unknown directive 'magic'"],
    ['.:5353 {\n errors\n}', 'port 53 only'],
    ['tls://. {\n errors\n}', 'only dns://'],
    ['. {\n errors\n}\n. {\n log\n}', 'already defined'],
    ['. {\n cache {\n success few\n }\n}', 'Corefile:3'],
    ['. {\n log {\n class none\n }\n}', 'one of all, success, denial, error'],
    ['. {\n loop twice\n}', 'takes no argument'],
  ])('%s is refused', (text, problem) => {
    expect(() => configured(text)).toThrow(problem)
  })

  it('gives each name to the block of its longest zone', async () => {
    const block = (zone: string, address: string) => `${zone} {\n hosts /dev/null {\n ${address} a.org b.a.org\n }\n}\n`
    const { ask } = configured(block('.', '10.0.0.1') + block('b.a.org', '10.0.0.2'), { clock, log })
    expect([await ask('a.org'), await ask('b.a.org')]).toEqual([
      'NOERROR a.org 3600 A 10.0.0.1',
      'NOERROR b.a.org 3600 A 10.0.0.2',
    ])
  })
})
