import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEtcdStore } from './etcd.ts'
import { etcdMissing, type LocalEtcdCluster, startLocalEtcd } from './local-etcd.ts'
import { storeContract } from './store.contract.ts'
import { CompactedError, type Store, UnavailableError } from './store.ts'

const missing = etcdMissing()

describe.skipIf(missing !== undefined)(`etcd ${missing ?? ''}`, () => {
  let cluster: LocalEtcdCluster
  let stores = 0
  const open = (prefix: string) => openEtcdStore({ endpoints: cluster.endpoints, prefix, timeout: 10_000 })

  beforeAll(async () => {
    cluster = await startLocalEtcd()
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  storeContract('etcd', async () => {
    const prefix = `/store-${stores++}`
    let store: Store = await open(prefix)
    return {
      store,
      async reopen() {
        await store[Symbol.asyncDispose]()
        store = await open(prefix)
        return store
      },
    }
  })

  it('keeps stores with different prefixes apart', async () => {
    const [one, other] = [await open('/one'), await open('/other')]
    await one.commit([], [{ key: '/a', value: Buffer.from('1') }])
    await other.commit([{ key: '/a', revision: 0 }], [{ key: '/a', value: Buffer.from('2') }])
    expect((await one.list('')).entries.map((entry) => String(entry.value))).toEqual(['1'])
    expect((await other.list('')).entries.map((entry) => String(entry.value))).toEqual(['2'])
    await one[Symbol.asyncDispose]()
    await other[Symbol.asyncDispose]()
  })

  it('forgets what is older than two intervals', async () => {
    const store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/forgetful', historyInterval: 20 })
    const old = await store.commit([], [{ key: '/a', value: Buffer.from('1') }])
    await store.commit([], [{ key: '/a', value: Buffer.from('2') }])
    await expect
      .poll(() => store.get('/a', old).catch((error) => error), { timeout: 10_000 })
      .toBeInstanceOf(CompactedError)
    expect(String((await store.get('/a'))?.value)).toBe('2')
    await store[Symbol.asyncDispose]()
  })

  it('shows one process what another one writes', async () => {
    const [one, other] = [await open('/shared'), await open('/shared')]
    const watch = other.watch('/', await other.revision(), new AbortController().signal)[Symbol.asyncIterator]()
    const revision = await one.commit([], [{ key: '/a', value: Buffer.from('rv '), revisionSlot: 3 }])
    const batch = (await watch.next()).value
    expect(String(batch?.changes[0]?.entry?.value)).toBe(`rv ${revision}`)
    await watch.return?.()
    await one[Symbol.asyncDispose]()
    await other[Symbol.asyncDispose]()
  })
})

it('is unavailable when nothing answers', async () => {
  await expect(openEtcdStore({ endpoints: ['127.0.0.1:9'], timeout: 300 })).rejects.toThrow(UnavailableError)
})
