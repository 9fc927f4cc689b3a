import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../base/random.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { openEmbeddedStore, openMemoryStore } from '../embedded.ts'
import { SimulatedDisk } from '../simulated-disk.ts'
import { CompactedError, type Store } from '../store.ts'

const put = (store: Store, key: string, size = 10) => store.commit([], [{ key, value: Buffer.alloc(size, 'x') }])

describe('history', () => {
  it('is kept for one to two intervals', async () => {
    const clock = new VirtualClock()
    const store = openMemoryStore({ clock, history: { interval: 1000 } })
    for (let i = 0; i < 5; i++) await put(store, '/a')
    await clock.advanceAsync(1000)
    expect(await store.get('/a', 3)).toBeDefined()
    await put(store, '/a')
    await clock.advanceAsync(1000)
    await put(store, '/b')
    await expect(store.get('/a', 5)).rejects.toThrow(CompactedError)
    expect(await store.get('/a', 6)).toBeDefined()
    await store[Symbol.asyncDispose]()
    await clock.advanceAsync(10_000)
  })

  it('is bounded in memory', async () => {
    const store = openMemoryStore({ history: { bytes: 100_000 } })
    const first = await put(store, '/a', 1000)
    for (let i = 0; i < 1000; i++) await put(store, `/a/${i % 3}`, 1000)
    await expect(store.get('/a', first)).rejects.toThrow(CompactedError)
    const last = await store.revision()
    expect(await store.get('/a', last - 20)).toBeDefined()
  })

  it('is kept until it is compacted when it is not bounded', async () => {
    const clock = new VirtualClock()
    const store = openMemoryStore({ clock, history: false })
    const first = await put(store, '/a')
    for (let i = 0; i < 50; i++) await put(store, '/a')
    await clock.advanceAsync(10 * 60_000)
    expect(await store.get('/a', first)).toMatchObject({ revision: first })
  })
})

describe('the log', () => {
  const options = (disk: SimulatedDisk) => ({
    directory: '/store',
    files: disk,
    segmentBytes: 1 << 14,
    checkpointBytes: 1 << 15,
    history: { bytes: 20_000 },
  })

  it('stays in proportion to what is stored, however much is written', async () => {
    const disk = new SimulatedDisk(seededRandom(1))
    const store = await openEmbeddedStore(options(disk))
    for (let i = 0; i < 3000; i++) await put(store, `/k/${i % 20}`, 1000)
    await store[Symbol.asyncDispose]()
    const names = await disk.list('/store')
    let bytes = 0
    for (const name of names) bytes += disk.content(`/store/${name}`).length
    expect(bytes).toBeLessThan(300_000)
    expect(names.filter((name) => name.endsWith('.snapshot'))).toHaveLength(1)
    const again = await openEmbeddedStore(options(disk))
    expect(await again.revision()).toBe(3001)
    expect((await again.list('')).entries).toHaveLength(20)
    await again[Symbol.asyncDispose]()
  })

  it('gives memory back: a value does not keep the segment it was read from', async () => {
    const disk = new SimulatedDisk(seededRandom(1))
    const store = await openEmbeddedStore({ ...options(disk), history: false })
    await put(store, '/kept', 500)
    for (let i = 0; i < 300; i++) await put(store, '/hot', 500)
    await store[Symbol.asyncDispose]()
    const again = await openEmbeddedStore(options(disk))
    const { value } = (await again.get('/kept'))!
    expect(value).toEqual(Buffer.alloc(500, 'x'))
    expect(value.buffer.byteLength).not.toBe(1 << 14)
    await again[Symbol.asyncDispose]()
  })
})

describe('a value', () => {
  it.each([
    ['with a slot', 3],
    ['as it is', undefined],
  ])('does not keep a larger buffer alive: %s', async (_name, revisionSlot) => {
    const store = openMemoryStore()
    const value = Buffer.alloc(100_000, 'x').subarray(10, 60)
    await store.commit([], [{ key: '/a', value, revisionSlot }])
    expect((await store.get('/a'))!.value.buffer.byteLength).toBeLessThan(100)
  })
})
