import { expect, it } from 'vitest'
import { seededRandom } from '../../base/random.ts'
import { openEmbeddedStore, openMemoryStore } from '../embedded.ts'
import type { StoreFiles } from '../files.ts'
import { SimulatedDisk } from '../simulated-disk.ts'
import { CompactedError, ConflictError, UnavailableError } from '../store.ts'

/** A disk whose writes to the log wait until they are let through. */
function gatedDisk() {
  const disk = new SimulatedDisk(seededRandom(1))
  const gate = { writes: 0, open: () => {} }
  const files: StoreFiles = Object.assign(Object.create(disk) as StoreFiles, {
    async open(path: string, mode: 'read' | 'create' | 'durable') {
      const file = await disk.open(path, mode)
      if (mode !== 'durable') return file
      return {
        ...file,
        async write(buffer: Buffer, position: number) {
          gate.writes++
          await new Promise<void>((resolve) => {
            gate.open = resolve
          })
          await file.write(buffer, position)
        },
      }
    },
  })
  for (const name of ['list', 'makeDirectory', 'rename', 'remove', 'syncDirectory', 'lock'] as const) {
    Object.assign(files, { [name]: disk[name].bind(disk) })
  }
  const writing = (count: number) => expect.poll(() => gate.writes).toBe(count)
  return { files, gate, writing }
}

const put = (key: string, value: string) => ({ key, value: Buffer.from(value) })

it('shows nothing before it is durable, and batches what arrives meanwhile', async () => {
  const { files, gate, writing } = gatedDisk()
  const store = await openEmbeddedStore({ directory: '/store', files })
  const seen: number[] = []
  const watch = store.watch('/', 1, new AbortController().signal)[Symbol.asyncIterator]()
  void watch.next().then(({ value }) => seen.push(value.revision))
  const first = store.commit([], [put('/a', '1')])
  await writing(1)
  const others = Array.from({ length: 50 }, (_, i) => store.commit([], [put(`/b/${i}`, 'x')]))
  expect(await store.get('/a')).toBeUndefined()
  expect(await store.revision()).toBe(1)
  expect(seen).toEqual([])
  gate.open()
  expect(await first).toBe(2)
  expect(seen).toEqual([2])
  await writing(2)
  gate.open()
  expect(await Promise.all(others)).toEqual(Array.from({ length: 50 }, (_, i) => 3 + i))
  expect(gate.writes).toBe(2)
  await store[Symbol.asyncDispose]()
})

it('checks conditions against what is in flight, and tells a conflict only when a read shows its cause', async () => {
  const { files, gate, writing } = gatedDisk()
  const store = await openEmbeddedStore({ directory: '/store', files })
  const winner = store.commit([{ key: '/a', revision: 0 }], [put('/a', 'winner')])
  await writing(1)
  let told = false
  const loser = store.commit([{ key: '/a', revision: 0 }], [put('/a', 'loser')]).catch((error: unknown) => {
    told = true
    return error
  })
  const upon = store.commit([{ key: '/a', revision: 2 }], [put('/a', 'upon')])
  const idle = store.commit([], [{ key: '/none' }])
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(told).toBe(false)
  gate.open()
  expect(await winner).toBe(2)
  expect(await loser).toBeInstanceOf(ConflictError)
  expect(String((await store.get('/a'))?.value)).toBe('winner')
  await writing(2)
  gate.open()
  expect(await upon).toBe(3)
  expect(await idle).toBe(3)
  await store[Symbol.asyncDispose]()
})

it('finishes what is under way when it closes, and takes no more', async () => {
  const { files, gate, writing } = gatedDisk()
  const store = await openEmbeddedStore({ directory: '/store', files })
  const last = store.commit([], [put('/a', '1')])
  await writing(1)
  const closing = store[Symbol.asyncDispose]()
  await expect(store.commit([], [put('/b', '1')])).rejects.toThrow(UnavailableError)
  gate.open()
  expect(await last).toBe(2)
  await closing
})

it('ends watches when it closes', async () => {
  const store = openMemoryStore()
  const watch = store.watch('/', 1, new AbortController().signal)[Symbol.asyncIterator]()
  const next = watch.next()
  await store[Symbol.asyncDispose]()
  expect((await next).done).toBe(true)
})

it('holds nothing for a reader that is slow: it reads history, or learns that it is gone', async () => {
  const store = openMemoryStore()
  const [slow, tooSlow] = [1, 2].map(() => store.watch('/a', 1, new AbortController().signal)[Symbol.asyncIterator]())
  for (let i = 0; i < 2500; i++) await store.commit([], [put('/a', String(i))])
  const sizes: number[] = []
  for (let total = 0; total < 2500; total += sizes.at(-1)!) sizes.push((await slow!.next()).value.changes.length)
  expect(sizes).toEqual([1000, 1000, 500])
  await store.compact(2000)
  await expect(tooSlow!.next()).rejects.toThrow(CompactedError)
  expect((await tooSlow!.next()).done).toBe(true)
})

it.each([
  ['a slot outside of the value', { key: '/a', value: Buffer.from('abc'), revisionSlot: 4 }],
  ['a slot that is no position', { key: '/a', value: Buffer.from('abc'), revisionSlot: 0.5 }],
  ['a key that is not text', { key: '/\ud800', value: Buffer.from('abc') }],
  ['a key that is too long', { key: 'k'.repeat(70_000), value: Buffer.from('abc') }],
])('refuses %s and changes nothing', async (_name, write) => {
  const store = openMemoryStore()
  await expect(store.commit([], [put('/b', '1'), write])).rejects.toThrow(RangeError)
  expect((await store.list('')).entries).toEqual([])
  expect(await store.commit([], [put('/b', '1')])).toBe(2)
})

it('in memory, those who write all the time let others have their turns', async () => {
  await using store = await openMemoryStore()
  let turns = 0
  let isWriting = true
  const countTurns = () => {
    turns++
    if (isWriting) setImmediate(countTurns)
  }
  setImmediate(countTurns)
  for (let i = 0; i < 1000; i++) await store.commit([], [put('/a', String(i))])
  isWriting = false
  expect(turns).toBeGreaterThan(5)
})
