import { expect, it } from 'vitest'
import { CompactedError, FutureRevisionError, type Store } from '../store.ts'
import { put, type TestStores } from './test-store.ts'

/** A store with a past: what each revision showed is known. */
async function storeWithPast(store: Store): Promise<Map<number, Record<string, string>>> {
  const past = new Map<number, Record<string, string>>([[await store.revision(), {}]])
  const steps: Record<string, string | undefined>[] = [
    { '/p/a': '1', '/p/b': '1' },
    { '/p/a': '2' },
    { '/p/b': undefined, '/p/c': '1' },
    { '/q': 'elsewhere' },
    { '/p/b': '2', '/p/d': '1' },
    { '/p/a': undefined, '/p/c': undefined },
    { '/p/a': '3' },
    { '/p/d': '2', '/p/e': '1' },
  ]
  let state: Record<string, string> = {}
  for (const step of steps) {
    const writes = Object.entries(step).map(([key, value]) => (value === undefined ? { key } : put(key, value)))
    const revision = await store.commit([], writes)
    const next: Record<string, string | undefined> = { ...state, ...step }
    state = Object.fromEntries(Object.entries(next).filter((pair): pair is [string, string] => pair[1] !== undefined))
    past.set(revision, state)
  }
  return past
}

async function expectStateAt(store: Store, at: number, state: Record<string, string>): Promise<void> {
  const expected = Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1))
  const { entries, revision } = await store.list('', { at })
  expect(entries.map((entry) => [entry.key, String(entry.value)])).toEqual(expected)
  expect(revision).toBe(at)
  for (const key of ['/p/a', '/p/b', '/p/c', '/p/d', '/p/e', '/q']) {
    expect((await store.get(key, at))?.value.toString()).toBe(state[key])
  }
  const page = await store.list('/p/', { at, limit: 1 })
  const inPrefix = expected.filter(([key]) => key.startsWith('/p/'))
  expect(page.entries.map((entry) => entry.key)).toEqual(inPrefix.slice(0, 1).map(([key]) => key))
  expect(page.remaining).toBe(Math.max(0, inPrefix.length - 1))
  const rest = await store.list('/p/', { at, limit: 9, after: '/p/b' })
  expect(rest.entries.map((entry) => entry.key)).toEqual(inPrefix.map(([key]) => key).filter((key) => key > '/p/b'))
  expect(rest.remaining).toBe(0)
}

async function expectCompacted(
  store: Store,
  past: readonly [number, Record<string, string>][],
  upTo: number,
): Promise<void> {
  for (const [revision, state] of past) {
    if (revision >= upTo) {
      await expectStateAt(store, revision, state)
      continue
    }
    const error = await store.list('', { at: revision }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(CompactedError)
    expect((error as CompactedError).oldest).toBe(upTo)
    await expect(store.get('/p/a', revision)).rejects.toThrow(CompactedError)
  }
}

export function historyContract(stores: TestStores): void {
  it('reads every older state, also after a restart', async () => {
    const store = await stores.open()
    const past = await storeWithPast(store)
    for (const [revision, state] of past) await expectStateAt(store, revision, state)
    const again = await stores.reopen()
    for (const [revision, state] of past) await expectStateAt(again, revision, state)
  })

  it('forgets what was compacted and keeps the rest', async () => {
    const store = await stores.open()
    const past = [...(await storeWithPast(store))]
    const [upTo] = past[5]!
    await store.compact(upTo)
    await expectCompacted(store, past, upTo)
    await expectCompacted(await stores.reopen(), past, upTo)
  })

  it('keeps the whole current state when everything is compacted', async () => {
    const store = await stores.open()
    const past = [...(await storeWithPast(store))]
    const [revision, state] = past.at(-1)!
    await store.compact(revision)
    await expectStateAt(store, revision, state)
    expect(await store.commit([{ key: '/q', revision: past[4]![0] }], [put('/q', 'new')])).toBe(revision + 1)
    expect(String((await store.get('/q'))?.value)).toBe('new')
  })

  it('takes an older compaction as done', async () => {
    const store = await stores.open()
    const past = [...(await storeWithPast(store))]
    await store.compact(past[4]![0])
    await store.compact(past[2]![0])
    await store.compact(past[4]![0])
    await expectStateAt(store, ...past[4]!)
  })

  it('refuses to read or compact the future', async () => {
    const store = await stores.open()
    const revision = await store.commit([], [put('/a')])
    await expect(store.get('/a', revision + 1)).rejects.toThrow(FutureRevisionError)
    await expect(store.compact(revision + 1)).rejects.toThrow(FutureRevisionError)
    const error = await store.list('/', { at: revision + 7 }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(FutureRevisionError)
    expect((error as FutureRevisionError).current).toBe(revision)
  })
}
