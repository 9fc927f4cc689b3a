import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Service } from '../api/generated/core-v1.ts'
import type { EndpointSlice } from '../api/generated/discovery-v1.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { serviceKind } from '../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../api/kinds/discovery/endpoint-slice.ts'
import { type ApiServer, startApiServer } from '../apiserver/server.ts'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { type Client, createClient } from '../client/client.ts'
import type { Transport } from '../client/transport.ts'
import { type FakeLinux, fakeLinux } from '../linux/fake-linux.ts'
import { NftTransaction } from '../linux/nft-transaction.ts'
import { openMemoryStore } from '../store/embedded.ts'
import type { Store } from '../store/store.ts'
import type { BackendFactory, ProxyMode, ServiceProxyBackend } from './backend.ts'
import { BACKENDS } from './backends.ts'
import { nftablesTracer } from './nftables-tracer.ts'
import { type ServiceProxy, type ServiceProxyOptions, startServiceProxy } from './service-proxy.ts'
import type { ServiceTable } from './service-table.ts'

const NODE_IP = '192.168.10.1'
const TABLE = { family: 'ip', name: 'sampan-services' } as const

let store: Store
let server: ApiServer
let transport: Transport
let client: Client
let linux: FakeLinux
const proxies: ServiceProxy[] = []

beforeEach(async () => {
  store = await openMemoryStore()
  const random = seededRandom(1)
  const common = { clock: systemClock, random, log: silentLogger }
  server = await startApiServer({ store, ...common, serviceCidrs: ['10.96.0.0/16'] })
  transport = server.transport({ name: 'admin', groups: ['system:masters'] })
  client = createClient(transport)
  linux = fakeLinux()
})

afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
})

/** Without `nodeIPs` the Node object is asked. */
async function start(more: Partial<ServiceProxyOptions> = {}, nodeIPs = [NODE_IP]): Promise<ServiceProxy> {
  const proxy = await startServiceProxy({
    transport,
    nodeName: 'here',
    mode: 'nftables',
    linux,
    clock: systemClock,
    random: seededRandom(2),
    log: silentLogger,
    localDetector: { by: 'cidr', cidrs: ['10.244.0.0/16'] },
    healthPort: 0,
    metricsPort: 0,
    host: '127.0.0.1',
    ...(nodeIPs.length > 0 && { nodeIPs }),
    ...more,
  })
  proxies.push(proxy)
  return proxy
}

const service = (name: string, spec: Service['spec'] = {}): Service => ({
  metadata: { name, namespace: 'default' },
  spec: { ports: [{ name: 'http', port: 80, targetPort: 8080 }], ...spec },
})

const slice = (name: string, ips: readonly string[], nodeName = 'here'): EndpointSlice => ({
  metadata: { name: `${name}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true }, nodeName })),
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
})

const services = () => client.resource(serviceKind).namespace('default')
const slices = () => client.resource(endpointSliceKind).namespace('default')

function reached(ip: string, port = 80): readonly string[] | string {
  const { verdict, endpoints } = nftablesTracer(linux.openNftables(), [NODE_IP]).trace({
    source: '10.244.0.20',
    destination: ip,
    port,
    protocol: 'TCP',
    inputInterface: 'cni0',
  })
  return verdict === 'endpoints' ? endpoints : verdict
}

const get = async (port: number | undefined, path: string) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`)
  return { status: response.status, text: await response.text(), headers: response.headers }
}

describe('rules follow the API', () => {
  test('a Service, its endpoints, and their changes', async () => {
    const proxy = await start()
    const { spec } = await services().create(service('web'))
    const ip = spec!.clusterIP!
    await expect.poll(() => reached(ip)).toBe('reject')
    await slices().create(slice('web', ['10.244.0.5', '10.244.0.6']))
    await expect.poll(() => reached(ip)).toEqual(['10.244.0.5:8080', '10.244.0.6:8080'])
    await slices().update(slice('web', ['10.244.0.6']))
    await expect.poll(() => reached(ip)).toEqual(['10.244.0.6:8080'])
    await services().delete('web')
    await expect.poll(() => reached(ip)).toBe('drop')
    await proxy.settled()
  })

  test('nothing is programmed before both Services and EndpointSlices are known', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow: Transport = {
      call: async (call) => {
        if (call.resource.plural === 'endpointslices') await held
        return transport.call(call)
      },
      watch: (call) => transport.watch(call),
      [Symbol.asyncDispose]: async () => {},
    }
    await services().create(service('web'))
    const proxy = await start({ transport: slow })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(linux.openNftables().tables()).toEqual([])
    release()
    await proxy.ready
    expect(linux.openNftables().tables()).toEqual([TABLE])
  })

  test('the node gives its addresses and zone', async () => {
    await client.resource(nodeKind).create({ metadata: { name: 'here' } })
    const [node] = (await client.resource(nodeKind).list()).items
    await client
      .resource(nodeKind)
      .updateStatus({ ...node!, status: { addresses: [{ type: 'InternalIP', address: NODE_IP }] } })
    const { nodePort } = (await services().create(service('web', { type: 'NodePort' }))).spec!.ports![0]!
    await slices().create(slice('web', ['10.244.0.5']))
    const proxy = await start({ localDetector: { by: 'none' } }, [])
    await proxy.ready
    await expect.poll(() => reached(NODE_IP, nodePort)).toEqual(['10.244.0.5:8080'])
  })
})

describe('restarts and others', () => {
  test('a new process adopts what is there without writing', async () => {
    await services().create(service('web', { sessionAffinity: 'ClientIP' }))
    await slices().create(slice('web', ['10.244.0.5']))
    const first = await start()
    await first.ready
    await first[Symbol.asyncDispose]()
    const generation = linux.openNftables().generation()
    const second = await start()
    await second.ready
    expect(linux.openNftables().generation()).toBe(generation)
  })

  test('what was missed while away is caught up', async () => {
    const { spec } = await services().create(service('web'))
    await slices().create(slice('web', ['10.244.0.5']))
    const first = await start()
    await first.ready
    await first[Symbol.asyncDispose]()
    expect(reached(spec!.clusterIP!)).toEqual(['10.244.0.5:8080'])
    await slices().update(slice('web', ['10.244.0.7', '10.244.0.8']))
    await (await start()).ready
    expect(reached(spec!.clusterIP!)).toEqual(['10.244.0.7:8080', '10.244.0.8:8080'])
  })

  test.each<[string, (transaction: NftTransaction) => void]>([
    ['the table deleted', (transaction) => transaction.deleteTable(TABLE)],
    ['a chain flushed', (transaction) => transaction.flushChain({ table: TABLE, name: 'services' })],
    ['a base chain flushed', (transaction) => transaction.flushChain({ table: TABLE, name: 'nat-prerouting' })],
    ['a chain that is not ours', (transaction) => transaction.addChain({ table: TABLE, name: 'stranger' })],
    [
      'a rule in front',
      (transaction) =>
        transaction.insertRule(
          { table: TABLE, name: 'services' },
          { expressions: [{ expr: 'verdict', verdict: 'return' }] },
        ),
    ],
    [
      'the endpoints gone',
      (transaction) =>
        transaction.flushSet({
          table: TABLE,
          name: 'endpoints',
          key: ['ipv4_addr', 'inet_proto', 'inet_service', 'mark'],
        }),
    ],
  ])('%s: repaired', async (_, damage) => {
    const { spec } = await services().create(service('web'))
    await slices().create(slice('web', ['10.244.0.5']))
    const proxy = await start()
    await proxy.ready
    const transaction = new NftTransaction()
    damage(transaction)
    await linux.openNftables().commit(transaction)
    await expect.poll(() => reached(spec!.clusterIP!)).toEqual(['10.244.0.5:8080'])
    await expect
      .poll(() =>
        linux
          .openNftables()
          .list(TABLE)
          ?.chains.some(({ name }) => name === 'stranger'),
      )
      .toBe(false)
    await slices().update(slice('web', ['10.244.0.6']))
    await expect.poll(() => reached(spec!.clusterIP!)).toEqual(['10.244.0.6:8080'])
  })

  test('cleanup leaves nothing', async () => {
    const proxy = await start()
    await proxy.ready
    await proxy.cleanup()
    expect(linux.openNftables().tables()).toEqual([])
  })

  test('another mode takes over, and the rules of the former go', async () => {
    const applied: string[] = []
    const other = (): ServiceProxyBackend => ({
      mode: 'userspace',
      unsupported: () => undefined,
      apply: async () => void applied.push(`apply with ${linux.openNftables().tables().length} tables`),
      cleanup: async () => void applied.push('cleanup'),
      onDrift: () => ({ [Symbol.dispose]() {} }),
      [Symbol.asyncDispose]: async () => {},
    })
    const proxy = await start({ backends: { nftables: BACKENDS.nftables!, userspace: other } })
    await proxy.ready
    expect(applied).toEqual(['cleanup'])
    await proxy.setMode('userspace')
    expect(applied).toEqual(['cleanup', 'apply with 1 tables'])
    expect(linux.openNftables().tables()).toEqual([])
    expect((await get(proxy.metricsPort, '/proxyMode')).text).toBe('userspace')
    expect((await get(proxy.metricsPort, '/healthz')).text).toBe('ok')
    await proxy.setMode('nftables')
    expect(applied.at(-1)).toBe('cleanup')
    expect(linux.openNftables().tables()).toEqual([TABLE])
  })

  test('a mode that is not there is refused', async () => {
    await expect(start({ mode: 'wishful' as ProxyMode })).rejects.toThrow('there is no proxy mode wishful')
  })

  test('a failed sync is made good by a full one', async () => {
    const { spec } = await services().create(service('web'))
    let failures = 2
    const broken: typeof BACKENDS.nftables = (options) => {
      const backend = BACKENDS.nftables!(options)
      return {
        mode: 'nftables',
        unsupported: () => backend.unsupported(),
        apply: (table, changed) =>
          failures-- > 0 ? Promise.reject(new Error('out of memory')) : backend.apply(table, changed),
        cleanup: () => backend.cleanup(),
        onDrift: (listener) => backend.onDrift(listener),
        [Symbol.asyncDispose]: async () => backend[Symbol.asyncDispose](),
      }
    }
    const proxy = await start({ backends: { nftables: broken! } })
    await slices().create(slice('web', ['10.244.0.5']))
    await proxy.ready
    await expect.poll(() => reached(spec!.clusterIP!)).toEqual(['10.244.0.5:8080'])
    expect((await get(proxy.metricsPort, '/metrics')).text).toContain('kubeproxy_sync_proxy_rules_failures_total 2')
  })
})

describe('health', () => {
  test('/healthz follows the node, /livez does not', async () => {
    await client.resource(nodeKind).create({ metadata: { name: 'here' } })
    const proxy = await start()
    await proxy.ready
    expect(await get(proxy.healthPort, '/healthz')).toMatchObject({ status: 200 })
    const taints = [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }]
    await client.resource(nodeKind).patch('here', { spec: { taints } })
    await expect.poll(async () => (await get(proxy.healthPort, '/healthz')).status).toBe(503)
    expect(JSON.parse((await get(proxy.healthPort, '/healthz')).text)).toMatchObject({ nodeEligible: false })
    expect((await get(proxy.healthPort, '/livez')).status).toBe(200)
    await client.resource(nodeKind).patch('here', { spec: { taints: null } })
    await expect.poll(async () => (await get(proxy.healthPort, '/healthz')).status).toBe(200)
    await client.resource(nodeKind).delete('here')
    await expect.poll(async () => (await get(proxy.healthPort, '/healthz')).status).toBe(503)
    expect((await get(proxy.healthPort, '/elsewhere')).status).toBe(404)
  })

  test('health-check node ports count local ready endpoints', async () => {
    const made = await services().create(
      service('web', { type: 'LoadBalancer', externalTrafficPolicy: 'Local', selector: { app: 'web' } }),
    )
    const port = made.spec!.healthCheckNodePort!
    await slices().create(slice('web', ['10.244.0.5', '10.244.0.6']))
    const proxy = await start()
    await proxy.ready
    const answer = await get(port, '/')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-load-balancing-endpoint-weight')).toBe('2')
    expect(JSON.parse(answer.text)).toEqual({
      service: { namespace: 'default', name: 'web' },
      localEndpoints: 2,
      serviceProxyHealthy: true,
    })
    await slices().update(slice('web', ['10.244.1.5'], 'there'))
    await expect.poll(async () => (await get(port, '/')).status).toBe(503)
    await services().delete('web')
    await expect.poll(() => get(port, '/').catch(() => 'closed')).toBe('closed')
  })
})

describe('metrics', () => {
  test('syncs, changes and ports without local endpoints', async () => {
    await services().create(service('web', { internalTrafficPolicy: 'Local' }))
    await slices().create(slice('web', ['10.244.1.5'], 'there'))
    const proxy = await start()
    await proxy.ready
    const { text } = await get(proxy.metricsPort, '/metrics')
    expect(text).toContain('kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="internal"} 1')
    expect(text).toContain('kubeproxy_sync_full_proxy_rules_duration_seconds_count 1')
    expect(text).toMatch(/kubeproxy_sync_proxy_rules_service_changes_total [1-9]/)
  })
})

test.each([
  [true, '3600'],
  [false, '60'],
])('limits of connection tracking, raised: %s', async (isAsked, seconds) => {
  const proxy = await start({ raiseConntrackLimits: isAsked })
  await proxy.ready
  await proxy.settled()
  expect(linux.openSysctl().read('net/netfilter/nf_conntrack_tcp_timeout_close_wait')).toBe(seconds)
})

describe('addresses that no Service may take', () => {
  const node = async (name: string, address: string) => {
    await client.resource(nodeKind).create({ metadata: { name } })
    const status = { addresses: [{ type: 'InternalIP', address }] }
    await client.resource(nodeKind).patch(name, { status }, { subresource: 'status' })
  }
  const API_SERVER = '172.30.0.1'
  const OTHER_NODE = '192.168.10.2'
  const wanted = [NODE_IP, OTHER_NODE, API_SERVER, '10.244.0.9', '10.96.0.10', '203.0.113.7']

  test.each(['nftables', 'iptables', 'userspace'] as const)('%s does not take them', async (mode) => {
    await node('there', OTHER_NODE)
    const tables: ServiceTable[] = []
    const backends = { [mode]: (() => recordingBackend(mode, tables)) as BackendFactory }
    const proxy = await start({ mode, backends, serviceCIDRs: ['10.96.0.0/16'], apiServers: [API_SERVER] })
    await services().create(service('thief', { externalIPs: wanted }))
    await slices().create(slice('thief', ['10.244.0.5']))
    const port = () => tables.at(-1)?.get('default/thief:http/TCP/IPv4')
    await expect.poll(() => port()?.externalIPs).toEqual(['203.0.113.7'])
    const { text } = await get(proxy.metricsPort, '/metrics')
    expect(text).toContain('sampan_proxy_refused_addresses 5')
    const events = () => client.resource({ group: '', version: 'v1', plural: 'events', namespaced: true })
    const messages = async () => {
      const { items } = await events().namespace('default').list()
      return items.map((event) => (event as unknown as { message: string }).message).sort()
    }
    await expect
      .poll(messages)
      .toEqual([
        '10.244.0.9 is in the range of pods; the proxy does not take it',
        '10.96.0.10 is in the range of cluster IPs; the proxy does not take it',
        '172.30.0.1 is an address of the API server; the proxy does not take it',
        '192.168.10.1 is an address of a node; the proxy does not take it',
        '192.168.10.2 is an address of a node; the proxy does not take it',
      ])
  })

  test('an address that a Service has goes when a node with it appears', async () => {
    await start()
    await services().create(service('thief', { externalIPs: [OTHER_NODE] }))
    await slices().create(slice('thief', ['10.244.0.5']))
    await expect.poll(() => reached(OTHER_NODE)).toEqual(['10.244.0.5:8080'])
    await node('there', OTHER_NODE)
    await expect.poll(() => reached(OTHER_NODE)).not.toEqual(['10.244.0.5:8080'])
  })
})

function recordingBackend(mode: ProxyMode, tables: ServiceTable[]): ServiceProxyBackend {
  return {
    mode,
    unsupported: () => undefined,
    apply: async (table) => void tables.push(table),
    cleanup: async () => {},
    onDrift: () => ({ [Symbol.dispose]() {} }),
    async [Symbol.asyncDispose]() {},
  }
}
