import { afterEach, beforeEach, expect, test } from 'vitest'
import { ApiError } from '../api/meta/api-error.ts'
import { selectorFromSet } from '../api/meta/label-selector.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { createClient, type ResourceClient } from './client.ts'
import { FakeApi } from './fake/fake-api.ts'
import { byNamespace, type Informer, type InformerOptions, startInformer } from './informer.ts'
import { createInformerFactory } from './informer-factory.ts'

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>
}

const RESOURCE = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
const map = (name: string, value = '', labels: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace: 'default', labels },
  data: { value },
})

let api: FakeApi
let clock: VirtualClock
let maps: ResourceClient<ConfigMap>
let seen: string[]
const running: AsyncDisposable[] = []

beforeEach(() => {
  api = new FakeApi()
  clock = new VirtualClock()
  maps = createClient(api).resource<ConfigMap>(RESOURCE).namespace('default')
  seen = []
})
afterEach(async () => {
  for (const one of running.splice(0)) await one[Symbol.asyncDispose]()
})

const settle = () => clock.advanceAsync(60_000)

function start(more: Partial<InformerOptions<ConfigMap>> = {}): Informer<ConfigMap> {
  const informer = startInformer<ConfigMap>({
    transport: api,
    resource: RESOURCE,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    ...more,
  })
  running.push(informer)
  informer.onChange((old, current) => {
    const text = (object: ConfigMap | undefined) => object?.data?.value ?? '-'
    seen.push(`${(current ?? old)!.metadata.name}:${text(old)}>${text(current)}`)
  })
  return informer
}

test('lists, then follows', async () => {
  await maps.create(map('a', '1'))
  const informer = start()
  await informer.synced
  expect(seen).toEqual(['a:->1'])
  await maps.create(map('b', '1'))
  const a = await maps.patch('a', { data: { value: '2' } })
  await maps.delete('b')
  await settle()
  expect(seen.slice(1)).toEqual(['b:->1', 'a:1>2', 'b:1>-'])
  expect(informer.get('default/a')).toEqual(a)
  expect(informer.list().map((object) => object.metadata.name)).toEqual(['a'])
})

test('a late listener first hears of what is there, and no more after it left', async () => {
  await maps.create(map('a', '1'))
  const informer = start()
  await informer.synced
  const late: string[] = []
  const leave = informer.onChange((old, current) => late.push(`${old?.metadata.name}>${current?.metadata.name}`))
  expect(late).toEqual(['undefined>a'])
  leave()
  await maps.delete('a')
  await settle()
  expect(late).toHaveLength(1)
})

test.each([
  ['ended', undefined],
  ['broken', new Error('cut')],
])('a watch that was %s resumes from the last revision, without a second list', async (_, error) => {
  const informer = start()
  await informer.synced
  await maps.create(map('a', '1'))
  await settle()
  api.endWatches(error)
  await maps.create(map('b', '1'))
  await maps.patch('a', { data: { value: '2' } })
  await settle()
  expect(seen).toEqual(['a:->1', 'b:->1', 'a:1>2'])
  expect(api.calls.filter((call) => call.verb === 'list')).toHaveLength(1)
})

test('after 410 the difference is told, and nothing else', async () => {
  await maps.create(map('same', '1'))
  await maps.create(map('changed', '1'))
  await maps.create(map('gone', '1'))
  const informer = start()
  await informer.synced
  await settle()
  seen.length = 0
  api.endWatches(new Error('cut'))
  await maps.patch('changed', { data: { value: '2' } })
  await maps.delete('gone')
  await maps.create(map('new', '1'))
  api.compact()
  await settle()
  expect(seen.toSorted()).toEqual(['changed:1>2', 'gone:1>-', 'new:->1'])
})

test('an object recreated during a gap is told as deleted and added', async () => {
  await maps.create({ ...map('a', '1'), metadata: { ...map('a').metadata, uid: 'first' } })
  await start().synced
  await settle()
  api.endWatches(new Error('cut'))
  await maps.delete('a')
  await maps.create({ ...map('a', '2'), metadata: { ...map('a').metadata, uid: 'second' } })
  api.compact()
  await settle()
  expect(seen).toEqual(['a:->1', 'a:1>-', 'a:->2'])
})

test('bookmarks move the revision on', async () => {
  await start().synced
  await createClient(api)
    .resource({ ...RESOURCE, plural: 'secrets' })
    .namespace('x')
    .create(map('other'))
  api.bookmark()
  await settle()
  api.compact()
  api.endWatches()
  await maps.create(map('a', '1'))
  await settle()
  expect(seen).toEqual(['a:->1'])
  expect(api.calls.filter((call) => call.verb === 'list')).toHaveLength(1)
})

test('failures are tried again with growing pauses until the API is back', async () => {
  for (let i = 0; i < 4; i++) api.failNextCall(new ApiError(503, 'ServiceUnavailable', 'down'))
  const informer = start()
  await clock.advanceAsync(10)
  expect(informer.isSynced).toBe(false)
  await settle()
  await informer.synced
  expect(api.calls).toHaveLength(5)
})

test('a server that ends each watch at once is not asked in a busy loop', async () => {
  await start().synced
  const original = api.watch.bind(api)
  let watches = 0
  api.watch = async function* (call) {
    watches++
    if (watches < 50) return
    yield* original(call)
  }
  api.endWatches()
  await clock.advanceAsync(10_000)
  expect(watches).toBeLessThan(15)
})

test('a listener that throws harms nobody', async () => {
  const informer = start()
  informer.onChange(() => {
    throw new Error('boom')
  })
  await informer.synced
  await maps.create(map('a', '1'))
  await maps.create(map('b', '1'))
  await settle()
  expect(seen).toHaveLength(2)
})

test('indexes follow changes, and can be added late', async () => {
  const byValue = (object: ConfigMap) => (object.data?.value ? [object.data.value] : [])
  const informer = start({ indexes: { value: byValue } })
  await informer.synced
  await maps.create(map('a', 'x'))
  await maps.create(map('b', 'x'))
  await maps.patch('b', { data: { value: 'y' } })
  await settle()
  const names = (index: string, value: string) => informer.byIndex(index, value).map((object) => object.metadata.name)
  expect([names('value', 'x'), names('value', 'y'), names('value', 'z')]).toEqual([['a'], ['b'], []])
  informer.addIndexes({ namespace: byNamespace })
  expect(names('namespace', 'default')).toEqual(['a', 'b'])
  await maps.delete('a')
  await settle()
  expect(names('namespace', 'default')).toEqual(['b'])
  expect(() => informer.addIndexes({ value: byNamespace })).toThrow('another meaning')
  expect(() => informer.byIndex('none', '')).toThrow('no index')
})

test('list filters by labels', async () => {
  await maps.create(map('a', '', { app: 'x' }))
  await maps.create(map('b', '', { app: 'y' }))
  const informer = start()
  await informer.synced
  expect(informer.list(selectorFromSet({ app: 'y' })).map((object) => object.metadata.name)).toEqual(['b'])
})

test('disposed before it synced: synced rejects, nothing is told any more', async () => {
  api.failNextCall(new Error('down'))
  const informer = start()
  await informer[Symbol.asyncDispose]()
  await expect(informer.synced).rejects.toThrow('stopped before')
  expect(clock.pending).toBe(0)
})

test('a factory shares informers of the same scope and stops them all', async () => {
  const factory = createInformerFactory({ transport: api, clock, random: seededRandom(1), log: silentLogger })
  const one = factory.informer(RESOURCE)
  expect(factory.informer(RESOURCE, { indexes: { namespace: byNamespace } })).toBe(one)
  expect(factory.informer(RESOURCE, { namespace: 'x' })).not.toBe(one)
  await factory.synced()
  expect(one.byIndex('namespace', 'default')).toEqual([])
  await factory[Symbol.asyncDispose]()
  await maps.create(map('a'))
  await settle()
  expect(one.list()).toEqual([])
})
