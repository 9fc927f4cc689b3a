import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { configMapKind } from '../api/kinds/core/config-map.ts'
import { namespaceKind } from '../api/kinds/core/namespace.ts'
import { serviceKind } from '../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../api/kinds/discovery/endpoint-slice.ts'
import { systemClock } from '../base/clock.ts'
import { createLogger, silentLogger } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import type { Transport } from '../client/transport.ts'
import { type ControlPlane, startControlPlane } from '../testing/control-plane.ts'
import { type ClusterDns, startClusterDns } from './cluster-dns.ts'

describe.each([
  ['by batches', true],
  ['by Node', false],
])('%s', (_, batched) => {
  let plane: ControlPlane
  let dns: ClusterDns
  const lines: string[] = []
  const log = createLogger({ level: 'info', format: 'text', now: () => 0, write: (line) => lines.push(line) })
  const resolver = new Resolver({ timeout: 2000, tries: 2 })

  beforeAll(async () => {
    plane = await startControlPlane({ clock: systemClock, controllers: [] })
    const { client } = plane
    await client.resource(namespaceKind).create({ metadata: { name: 'shop' } })
    const services = client.resource(serviceKind).namespace('shop')
    await services.create({
      metadata: { name: 'web' },
      spec: {
        clusterIP: '10.96.7.7',
        ports: [
          { name: 'http', port: 80, targetPort: 8080 },
          { name: 'dns', protocol: 'UDP', port: 53 },
        ],
      },
    })
    await services.create({
      metadata: { name: 'db' },
      spec: { clusterIP: 'None', ports: [{ name: 'pg', port: 5432 }] },
    })
    await services.create({ metadata: { name: 'idle' }, spec: { clusterIP: 'None', ports: [{ port: 1 }] } })
    await services.create({
      metadata: { name: 'alias' },
      spec: { type: 'ExternalName', externalName: 'web.shop.svc.cluster.local' },
    })
    await client.resource(endpointSliceKind).create({
      metadata: { name: 'db-1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'db' } },
      addressType: 'IPv4',
      ports: [{ name: 'pg', port: 5432 }],
      endpoints: [
        { addresses: ['10.244.0.5'], hostname: 'db-0', conditions: { ready: true } },
        { addresses: ['10.244.0.6'], conditions: { ready: true } },
        { addresses: ['10.244.0.7'], conditions: { ready: false } },
      ],
    })
    await client.resource(endpointSliceKind).create({
      metadata: { name: 'db-2', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'db' } },
      addressType: 'IPv6',
      ports: [{ name: 'pg', port: 5432 }],
      endpoints: [{ addresses: ['fd00::5'], hostname: 'db-0', conditions: { ready: true } }],
    })
    dns = await startClusterDns({
      // As the node does: with no more rights than it has.
      transport: plane.server.transport({ name: 'system:coredns', groups: ['system:authenticated'] }, 'test'),
      clock: systemClock,
      random: systemRandom,
      log,
      listen: [{ host: '127.0.0.1', port: 0 }],
      upstreams: [],
      serviceAddress: '10.96.0.10',
      batched,
    })
    resolver.setServers([`127.0.0.1:${dns.ports[0]}`])
    await vi.waitFor(() => resolver.resolveTxt('dns-version.cluster.local'))
  })

  afterAll(async () => {
    await dns?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  describe('the DNS specification', () => {
    it.each([
      ['dns-version.cluster.local', 'TXT', [['1.1.0']]],
      ['web.shop.svc.cluster.local', 'A', ['10.96.7.7']],
      ['WEB.Shop.svc.Cluster.Local', 'A', ['10.96.7.7']],
      ['_http._tcp.web.shop.svc.cluster.local', 'SRV', [{ name: 'web.shop.svc.cluster.local', port: 80 }]],
      ['_dns._udp.web.shop.svc.cluster.local', 'SRV', [{ name: 'web.shop.svc.cluster.local', port: 53 }]],
      ['7.7.96.10.in-addr.arpa', 'PTR', ['web.shop.svc.cluster.local']],
      ['db.shop.svc.cluster.local', 'A', ['10.244.0.5', '10.244.0.6']],
      ['db-0.db.shop.svc.cluster.local', 'A', ['10.244.0.5']],
      ['10-244-0-6.db.shop.svc.cluster.local', 'A', ['10.244.0.6']],
      [
        '_pg._tcp.db.shop.svc.cluster.local',
        'SRV',
        [
          { name: '10-244-0-6.db.shop.svc.cluster.local', port: 5432 },
          { name: 'db-0.db.shop.svc.cluster.local', port: 5432 },
        ],
      ],
      ['5.0.244.10.in-addr.arpa', 'PTR', ['db-0.db.shop.svc.cluster.local']],
      ['db.shop.svc.cluster.local', 'AAAA', ['fd00::5']],
      [`5.${'0.'.repeat(29)}d.f.ip6.arpa`, 'PTR', ['db-0.db.shop.svc.cluster.local']],
      ['alias.shop.svc.cluster.local', 'CNAME', ['web.shop.svc.cluster.local']],
      ['alias.shop.svc.cluster.local', 'A', ['10.96.7.7']],
      ['10-1-2-3.shop.pod.cluster.local', 'A', ['10.1.2.3']],
      ['cluster.local', 'NS', ['ns.dns.cluster.local']],
      ['ns.dns.cluster.local', 'A', ['10.96.0.10']],
    ])('%s %s', async (name, type, expected) => {
      // The second answer was kept ready, where that can be.
      await resolver.resolve(name, type)
      const found = (await resolver.resolve(name, type)) as readonly unknown[]
      const plain = found.map((one) =>
        typeof one === 'object' && one !== null && 'port' in one
          ? { name: 'name' in one && one.name, port: one.port }
          : one,
      )
      expect(plain.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual(expected)
    })

    it('bursts from few sockets are answered question by question', async () => {
      const names = ['web.shop', 'db.shop', 'alias.shop', 'no.shop', 'gone.shop'].map(
        (name) => `${name}.svc.cluster.local`,
      )
      const burst = async () => {
        const socket = createSocket('udp4')
        const asked = Array.from({ length: 200 }, (_, id) => question(id, names[id % names.length]!))
        const answered = new Map<number, string>()
        socket.on('message', (answer) => answered.set(answer.readUInt16BE(0), askedIn(answer)))
        for (const packet of asked) socket.send(packet, dns.ports[0]!, '127.0.0.1')
        await expect.poll(() => answered.size).toBe(asked.length)
        socket.close()
        for (const [id, packet] of asked.entries()) expect(answered.get(id)).toBe(askedIn(packet))
      }
      for (let round = 0; round < 3; round++) await Promise.all([burst(), burst(), burst()])
    })

    it.each([
      ['nothing.shop.svc.cluster.local', 'A', 'ENOTFOUND'],
      ['web.nowhere.svc.cluster.local', 'A', 'ENOTFOUND'],
      ['idle.shop.svc.cluster.local', 'A', 'ENOTFOUND'],
      ['10-244-0-7.db.shop.svc.cluster.local', 'A', 'ENOTFOUND'],
      ['_https._tcp.web.shop.svc.cluster.local', 'SRV', 'ENOTFOUND'],
      ['_http._udp.web.shop.svc.cluster.local', 'SRV', 'ENOTFOUND'],
      ['10-1-2-3.nowhere.pod.cluster.local', 'A', 'ENOTFOUND'],
      ['web.shop.svc.cluster.local', 'AAAA', 'ENODATA'],
      ['shop.svc.cluster.local', 'A', 'ENODATA'],
      ['example.com', 'A', 'EREFUSED'],
    ])('%s %s is %s', async (name, type, code) => {
      await expect(resolver.resolve(name, type)).rejects.toMatchObject({ code })
      await expect(resolver.resolve(name, type)).rejects.toMatchObject({ code })
    })
  })

  it('runs as it was told', () => {
    expect(lines.join('')).not.toContain('without batches')
  })

  it('follows the cluster, whatever was answered before', async () => {
    const { client } = plane
    const services = client.resource(serviceKind).namespace('shop')
    const slices = client.resource(endpointSliceKind).namespace('shop')
    const names = () => resolver.resolve4('late.shop.svc.cluster.local').then((found) => found.sort())
    const again = (address: string) => resolver.reverse(address)
    for (let i = 0; i < 3; i++) await expect(names()).rejects.toMatchObject({ code: 'ENOTFOUND' })
    await services.create({ metadata: { name: 'late' }, spec: { clusterIP: 'None', ports: [{ port: 1 }] } })
    const slice = (addresses: readonly string[]) => ({
      metadata: { name: 'late-1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'late' } },
      addressType: 'IPv4',
      ports: [],
      endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    })
    await slices.create(slice(['10.244.1.1']))
    await vi.waitFor(async () => expect(await names()).toEqual(['10.244.1.1']))
    expect(await again('10.244.1.1')).toEqual(['10-244-1-1.late.shop.svc.cluster.local'])
    const known = await slices.get('late-1')
    await slices.update({ ...known, ...slice(['10.244.1.2', '10.244.1.3']), metadata: known.metadata })
    await vi.waitFor(async () => expect(await names()).toEqual(['10.244.1.2', '10.244.1.3']))
    await expect(again('10.244.1.1')).rejects.toMatchObject({ code: 'ENOTFOUND' })
    const orders = new Set<string>()
    for (let i = 0; i < 20; i++) orders.add(String(await resolver.resolve4('late.shop.svc.cluster.local')))
    expect(orders.size).toBe(2)
    await services.delete('late')
    await vi.waitFor(() => expect(names()).rejects.toMatchObject({ code: 'ENOTFOUND' }))
  })

  it('follows the ConfigMap, unless it is wrong', async () => {
    const { client } = plane
    await client
      .resource(namespaceKind)
      .create({ metadata: { name: 'kube-system' } })
      .catch(() => {})
    const configMaps = client.resource(configMapKind).namespace('kube-system')
    const name = 'web.shop.svc.cluster.local'
    const corefile = (ttl: number) => `. {\n kubernetes cluster.local {\n ttl ${ttl}\n }\n reload\n}`
    const ttl = async () => (await resolver.resolve4(name, { ttl: true }))[0]?.ttl
    expect([await ttl(), await ttl()]).toEqual([30, 30])
    await configMaps.create({ metadata: { name: 'coredns' }, data: { Corefile: corefile(7) } })
    await vi.waitFor(async () => expect(await ttl()).toBe(7))
    const change = async (text: string) => {
      const known = await configMaps.get('coredns')
      await configMaps.update({ ...known, data: { Corefile: text } })
    }
    await change('. {\n magic\n}')
    await vi.waitFor(() =>
      expect(lines.join('')).toContain("Corefile:2 - Error during parsing: Unknown directive 'magic'"),
    )
    expect(await ttl()).toBe(7)
    await change(corefile(9))
    await vi.waitFor(async () => expect(await ttl()).toBe(9))
    await configMaps.delete('coredns')
    await vi.waitFor(async () => expect(await ttl()).toBe(30))
  })
})

describe('before the cluster is known', () => {
  it.each([true, false])('names of it fail, and others do not (by batches: %s)', async (batched) => {
    const silence = (signal: AbortSignal | undefined) =>
      new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const transport: Transport = {
      call: ({ signal }) => silence(signal),
      async *watch({ signal }) {
        yield await silence(signal)
      },
      async [Symbol.asyncDispose]() {},
    }
    const common = { clock: systemClock, random: systemRandom, log: silentLogger }
    const corefile = '. {\n kubernetes cluster.local\n hosts /dev/null {\n 10.0.0.1 a.org\n fallthrough\n }\n}'
    const listen = [{ host: '127.0.0.1', port: 0 }]
    const dns = await startClusterDns({ ...common, transport, listen, upstreams: [], batched, corefile })
    const resolver = new Resolver({ timeout: 1000, tries: 1 })
    resolver.setServers([`127.0.0.1:${dns.ports[0]}`])
    await expect(resolver.resolve4('web.shop.svc.cluster.local')).rejects.toMatchObject({ code: 'ESERVFAIL' })
    expect(await resolver.resolve4('a.org')).toEqual(['10.0.0.1'])
    await dns[Symbol.asyncDispose]()
  })
})

/** A query for an address, with nothing else in it. */
function question(id: number, name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]))
  const head = Buffer.from([id >> 8, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
  return Buffer.concat([head, ...labels, Buffer.from([0, 0, 1, 0, 1])])
}

/** The question of a packet, which ends with the first empty label. */
const askedIn = (packet: Buffer) => packet.toString('latin1', 12, packet.indexOf(0, 12) + 5)
