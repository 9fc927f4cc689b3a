import { Resolver } from 'node:dns/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { namespaceKind } from '../api/kinds/core/namespace.ts'
import { serviceKind } from '../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../api/kinds/discovery/endpoint-slice.ts'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { type ControlPlane, startControlPlane } from '../testing/control-plane.ts'
import { type ClusterDns, startClusterDns } from './cluster-dns.ts'

let plane: ControlPlane
let dns: ClusterDns
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
  await services.create({ metadata: { name: 'db' }, spec: { clusterIP: 'None', ports: [{ name: 'pg', port: 5432 }] } })
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
  dns = await startClusterDns({
    transport: client.transport,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    listen: [{ host: '127.0.0.1', port: 0 }],
    upstreams: [],
    serviceAddress: '10.96.0.10',
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
    ['alias.shop.svc.cluster.local', 'CNAME', ['web.shop.svc.cluster.local']],
    ['alias.shop.svc.cluster.local', 'A', ['10.96.7.7']],
    ['10-1-2-3.shop.pod.cluster.local', 'A', ['10.1.2.3']],
    ['cluster.local', 'NS', ['ns.dns.cluster.local']],
    ['ns.dns.cluster.local', 'A', ['10.96.0.10']],
  ])('%s %s', async (name, type, expected) => {
    const found = (await resolver.resolve(name, type)) as readonly unknown[]
    const plain = found.map((one) =>
      typeof one === 'object' && one !== null && 'port' in one
        ? { name: 'name' in one && one.name, port: one.port }
        : one,
    )
    expect(plain.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual(expected)
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
  })
})
