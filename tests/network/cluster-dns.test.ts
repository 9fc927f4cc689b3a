import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpoint-slice.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { seededRandom, systemRandom } from '../../src/base/random.ts'
import { type ClusterDns, startClusterDns } from '../../src/cluster-dns/cluster-dns.ts'
import { type ControlPlane, startControlPlane } from '../../src/testing/control-plane.ts'

/** What a person at a terminal sees: real dig, real sockets, over IPv4 and IPv6. */

const execute = promisify(execFile)
const ENDPOINTS = 60

let plane: ControlPlane

beforeAll(async () => {
  plane = await startControlPlane({ clock: systemClock, controllers: [] })
  const services = plane.client.resource(serviceKind).namespace('default')
  await services.create({
    metadata: { name: 'web' },
    spec: { clusterIP: '10.96.7.7', ports: [{ name: 'http', port: 80 }] },
  })
  await services.create({
    metadata: { name: 'many' },
    spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80 }] },
  })
  await plane.client.resource(endpointSliceKind).create({
    metadata: { name: 'many-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'many' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 80 }],
    endpoints: Array.from({ length: ENDPOINTS }, (_, i) => ({
      addresses: [`10.244.0.${i + 1}`],
      conditions: { ready: true },
    })),
  })
})

afterAll(() => plane?.[Symbol.asyncDispose]())

describe.each([
  ['by batches, IPv4', '127.0.0.1', true],
  ['by Node, IPv4', '127.0.0.1', false],
  ['by batches, IPv6', '::1', true],
  ['by Node, IPv6', '::1', false],
])('%s', (_, host, batched) => {
  let dns: ClusterDns

  beforeAll(async () => {
    dns = await startClusterDns({
      transport: plane.client.transport,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      listen: [{ host, port: 0 }],
      upstreams: [],
      batched,
    })
    await vi.waitFor(async () => expect(await dig('dns-version.cluster.local', 'TXT')).toContain('NOERROR'))
  })

  afterAll(() => dns?.[Symbol.asyncDispose]())

  const dig = async (...args: string[]) => {
    const { stdout } = await execute('dig', [`@${host}`, '-p', String(dns.ports[0]), '+time=2', '+tries=2', ...args])
    return stdout
  }
  /** Twice: what comes second was kept ready, where that can be. */
  const digTwice = async (...args: string[]) => {
    await dig(...args)
    return dig(...args)
  }

  it.each<[string, string[], RegExp[]]>([
    [
      'an address',
      ['web.default.svc.cluster.local', 'A'],
      [
        /status: NOERROR/,
        /flags: qr aa rd ra;/,
        /web\.default\.svc\.cluster\.local\.\s+30\s+IN\s+A\s+10\.96\.7\.7/,
        /udp: 1232/,
      ],
    ],
    [
      'the letters of the question',
      ['WEB.Default.svc.cluster.LOCAL'],
      [/WEB\.Default\.svc\.cluster\.LOCAL\.\s+30\s+IN\s+A\s/],
    ],
    ['without EDNS', ['+noedns', 'web.default.svc.cluster.local'], [/10\.96\.7\.7/, /ADDITIONAL: 0/]],
    ['with DNSSEC', ['+dnssec', 'web.default.svc.cluster.local'], [/10\.96\.7\.7/, /flags: do; udp: 1232/]],
    [
      'no data',
      ['web.default.svc.cluster.local', 'AAAA'],
      [/NOERROR/, /ANSWER: 0/, /cluster\.local\.\s+30\s+IN\s+SOA\s/],
    ],
    [
      'no name',
      ['no.default.svc.cluster.local'],
      [/NXDOMAIN/, /SOA\sns\.dns\.cluster\.local\. hostmaster\.cluster\.local\. \d{10} /],
    ],
    [
      'a port',
      ['_http._tcp.web.default.svc.cluster.local', 'SRV'],
      [/SRV\s+0 100 80 web\.default\.svc\.cluster\.local\./],
    ],
    ['a name of an address', ['-x', '10.96.7.7'], [/PTR\sweb\.default\.svc\.cluster\.local\./]],
    ['another version of EDNS', ['+edns=1', '+noednsneg', 'web.default.svc.cluster.local'], [/BADVERS/]],
    [
      'many by TCP, after UDP was too small',
      ['+bufsize=512', 'many.default.svc.cluster.local'],
      [/Truncated, retrying in TCP/, /ANSWER: 60/],
    ],
    ['many by TCP', ['+tcp', 'many.default.svc.cluster.local'], [/ANSWER: 60/, /\(TCP\)/]],
    [
      'many, cut off',
      ['+ignore', '+noedns', 'many.default.svc.cluster.local'],
      [/flags: qr aa tc rd ra;/, /ANSWER: 2\d,/],
    ],
    ['many by UDP', ['+bufsize=4096', 'many.default.svc.cluster.local'], [/ANSWER: 60/, /\(UDP\)/]],
    ['another world', ['example.org'], [/REFUSED/]],
  ])('%s', async (_name, args, expected) => {
    const answer = await digTwice(...args)
    for (const pattern of expected) expect(answer).toMatch(pattern)
  })

  it('takes 10,000 malformed packets and goes on', async () => {
    const random = seededRandom(11)
    const upTo = (limit: number) => Math.floor(random.next() * limit)
    const sample = Buffer.from('beef01000001000000000001037765620764656661756c74037376630000010001', 'hex')
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    for (let i = 0; i < 10_000; i++) {
      const packet = Buffer.from(sample.subarray(0, upTo(3) === 0 ? upTo(sample.length) : sample.length))
      for (let j = upTo(5); j >= 0 && packet.length > 0; j--) packet[upTo(packet.length)] = upTo(256)
      await new Promise((resolve) => socket.send(packet, dns.ports[0]!, host, resolve))
    }
    await new Promise<void>((resolve) => socket.close(() => resolve()))
    expect(await dig('web.default.svc.cluster.local')).toContain('10.96.7.7')
  })
})
