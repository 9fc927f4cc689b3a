import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KubernetesObject } from '../../src/api/meta/object.ts'
import { type ApiServer, startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { openEtcdStore } from '../../src/store/etcd.ts'
import { etcdMissing, type LocalEtcdCluster, startLocalEtcd } from '../../src/store/local-etcd.ts'
import type { Store } from '../../src/store/store.ts'

const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
const SERVICES = { group: '', version: 'v1', plural: 'services', namespaced: true }
const ADMIN = { name: 'admin', groups: ['system:masters'] }

type ConfigMap = KubernetesObject & { data?: Record<string, string> }
type Service = KubernetesObject & { spec: { clusterIP?: string; ports: { port: number }[] } }

let etcd: LocalEtcdCluster | undefined
const stores: Store[] = []
const servers: ApiServer[] = []
const clients: Client[] = []

describe.skipIf(etcdMissing() !== undefined)('two API servers on one etcd', () => {
  beforeAll(async () => {
    etcd = await startLocalEtcd(1)
    for (let i = 0; i < 2; i++) {
      const store = await openEtcdStore({ endpoints: etcd.endpoints })
      stores.push(store)
      const server = await startApiServer({
        store,
        sharedStore: true,
        clock: systemClock,
        random: systemRandom,
        log: silentLogger,
        serviceCidrs: ['10.96.0.0/24'],
      })
      servers.push(server)
      clients.push(createClient(server.transport(ADMIN)))
    }
  }, 60_000)

  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    for (const store of stores) await store[Symbol.asyncDispose]()
    await etcd?.[Symbol.asyncDispose]()
  })

  const configMaps = (server: number) => clients[server]!.resource<ConfigMap>(CONFIG_MAPS).namespace('default')
  const services = (server: number) => clients[server]!.resource<Service>(SERVICES).namespace('default')

  it('a read of one sees every write the other acknowledged', async () => {
    for (let i = 0; i < 20; i++) {
      await configMaps(i % 2).create({ metadata: { name: `seen-${i}` }, data: { i: String(i) } })
      expect((await configMaps((i + 1) % 2).get(`seen-${i}`)).data).toEqual({ i: String(i) })
    }
    const [first, second] = await Promise.all([configMaps(0).list(), configMaps(1).list()])
    expect(first.items.map((one) => one.metadata.uid)).toEqual(second.items.map((one) => one.metadata.uid))
  })

  it('no patch is lost when both change the same object', async () => {
    await configMaps(0).create({ metadata: { name: 'contended' } })
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => configMaps(i % 2).patch('contended', { data: { [`k${i}`]: 'x' } })),
    )
    expect(Object.keys((await configMaps(0).get('contended')).data ?? {})).toHaveLength(20)
  })

  it('no address is given twice', async () => {
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        services(i % 2).create({ metadata: { name: `s${i}` }, spec: { ports: [{ port: 80 }] } }),
      ),
    )
    expect(new Set(made.map((service) => service.spec.clusterIP)).size).toBe(60)
  })

  it('a watch on one hears of writes through the other, in order', async () => {
    const { metadata } = await configMaps(0).list()
    const stop = new AbortController()
    const seen: string[] = []
    const watching = (async () => {
      const options = { resourceVersion: metadata.resourceVersion ?? '', signal: stop.signal }
      for await (const batch of configMaps(0).watch(options)) {
        seen.push(...batch.map(({ type, object }) => `${type} ${object.metadata.name}`))
        if (seen.length >= 10) return
      }
    })()
    for (let i = 0; i < 10; i++) await configMaps(1).create({ metadata: { name: `told-${i}` } })
    await watching
    stop.abort()
    expect(seen).toEqual(Array.from({ length: 10 }, (_, i) => `ADDED told-${i}`))
  })
})
