import { expect, it } from 'vitest'
import { type Change, type ChangeBatch, CompactedError, type Store } from '../store.ts'
import { put, type TestStores } from './test-store.ts'

/** A change as a line: key, old value, new value. */
const line = ({ key, previous, entry }: Change) => `${key} ${previous?.value ?? '-'} ${entry?.value ?? '-'}`

export function watchContract(stores: TestStores): void {
  it('tells creations, changes and deletions with what was before', async () => {
    const store = await stores.open()
    const start = await store.revision()
    const created = await store.commit([], [put('/a', '1')])
    const changed = await store.commit([], [put('/a', '2')])
    const deleted = await store.commit([], [{ key: '/a' }])
    const batches = await stores.batchesUpTo(store.watch('/', start, stores.signal), deleted)
    const changes = batches.flatMap((batch) => batch.changes)
    expect(changes.map(line)).toEqual(['/a - 1', '/a 1 2', '/a 2 -'])
    expect(changes.map((change) => change.revision)).toEqual([created, changed, deleted])
    expect(changes[1]?.entry).toMatchObject({ key: '/a', created, revision: changed })
    expect(changes[2]?.previous).toMatchObject({ key: '/a', created, revision: changed })
  })

  it('hands all changes of a commit over in one batch', async () => {
    const store = await stores.open()
    const start = await store.revision()
    const first = await store.commit(
      [],
      ['/a', '/b', '/c', '/elsewhere'].map((key) => put(key)),
    )
    const second = await store.commit([], [{ key: '/a' }, put('/b', 'new'), { key: '/c' }])
    const batches = await stores.batchesUpTo(store.watch('/', start, stores.signal), second)
    for (const revision of [first, second]) {
      const holding = batches.filter((batch) => batch.changes.some((change) => change.revision === revision))
      expect(holding).toHaveLength(1)
    }
  })

  it('tells only the prefix', async () => {
    const store = await stores.open()
    const start = await store.revision()
    await store.commit(
      [],
      ['/p', '/p/1', '/p/x/1', '/pp', '/q/1'].map((key) => put(key)),
    )
    const last = await store.commit([], [put('/p/2'), put('/pp/2')])
    const prefixes = { '/p/': 3, '/p': 6, '/p/x/': 1, '': 7, '/q/': 1 }
    for (const [prefix, count] of Object.entries(prefixes)) {
      const watch = store.watch(prefix, start, stores.signal)
      const changes: Change[] = []
      for await (const batch of watch) {
        changes.push(...batch.changes)
        if (changes.length >= count) break
      }
      expect(changes.map((change) => change.key).every((key) => key.startsWith(prefix))).toBe(true)
      expect(changes).toHaveLength(count)
    }
    expect(await store.revision()).toBe(last)
  })

  const starts = [0, 1, 25, 49, 50]
  it.each(starts)('resumes after any of the revisions: %i', async (skipped) => {
    const store = await stores.open()
    const start = await store.revision()
    for (let i = 0; i < 50; i++) await store.commit([], [put('/n', String(i))])
    const reader = await stores.reopen()
    const watch = reader.watch('/n', start + skipped, stores.signal)
    const last = await reader.commit([], [put('/n', 'last')])
    const changes = (await stores.batchesUpTo(watch, last)).flatMap((batch) => batch.changes)
    const expected = Array.from({ length: 51 - skipped }, (_, i) => start + skipped + 1 + i)
    expect(changes.map((change) => change.revision)).toEqual(expected)
    expect(String(changes.at(-1)?.previous?.value)).toBe('49')
  })

  it('has no gap and no duplicate while others write', async () => {
    const store = await stores.open()
    const start = await store.revision()
    const rounds = 40
    const writers = Array.from({ length: 5 }, async (_, writer) => {
      for (let i = 0; i < rounds; i++) await store.commit([], [put(`/w/${writer}`, String(i)), put(`/x/${writer}`)])
    })
    const readers = Array.from({ length: 6 }, async (_, i) => {
      const from = start + i
      const batches = await stores.batchesUpTo(store.watch('/w/', from, stores.signal), start + 5 * rounds)
      const revisions = batches.flatMap((batch) => batch.changes.map((change) => change.revision))
      expect(revisions).toEqual(Array.from({ length: 5 * rounds - i }, (_, n) => from + 1 + n))
    })
    await Promise.all([...writers, ...readers])
  })

  it('hands a change over no later than its commit resolves', async () => {
    const store = await stores.open()
    const seen: number[] = []
    const reading = collect(store.watch('/a/', await store.revision(), stores.signal), (batch) => {
      for (const change of batch.changes) seen.push(change.revision)
    })
    for (let i = 0; i < 20; i++) {
      const revision = await store.commit([], [put(`/a/${i}`)])
      expect(seen.at(-1)).toBe(revision)
    }
    await stores.dispose()
    await reading
  })

  it('reports its progress on request', async () => {
    const store = await stores.open()
    const watch = store.watch('/quiet/', await store.revision(), stores.signal)[Symbol.asyncIterator]()
    for (let round = 0; round < 3; round++) {
      const next = watch.next()
      const revision = await store.commit([], [put('/loud', String(round))])
      let batch = await askForProgress(store, next)
      // A report that was under way before the commit may come first.
      while (batch.revision < revision) batch = await askForProgress(store, watch.next())
      expect(batch.changes).toEqual([])
      expect(batch.revision).toBeLessThanOrEqual(await store.revision())
    }
    await watch.return?.()
  })

  it('does not report progress before the changes it covers', async () => {
    const store = await stores.open()
    const start = await store.revision()
    const watch = store.watch('/a', start, stores.signal)
    const last = await store.commit([], [put('/a')])
    store.requestProgress()
    const batches = await stores.batchesUpTo(watch, last)
    expect(batches.flatMap((batch) => batch.changes)).toHaveLength(1)
  })

  it('refuses to start in the compacted past', async () => {
    const store = await stores.open()
    const start = await store.revision()
    for (let i = 0; i < 10; i++) await store.commit([], [put('/a', String(i))])
    await store.compact(start + 8)
    const error = await stores.firstBatch(store.watch('/a', start + 2, stores.signal)).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(CompactedError)
    expect((error as CompactedError).oldest).toBe(start + 8)
    const batches = await stores.batchesUpTo(store.watch('/a', start + 8, stores.signal), start + 10)
    expect(batches.flatMap((batch) => batch.changes).map(line)).toEqual(['/a 7 8', '/a 8 9'])
  })

  it('is not disturbed by a compaction once it has caught up', async () => {
    const store = await stores.open()
    const watch = store.watch('/a/', await store.revision(), stores.signal)[Symbol.asyncIterator]()
    await Promise.all([watch.next(), store.commit([], [put('/a/1')])])
    const next = watch.next()
    for (let i = 0; i < 5; i++) await store.commit([], [put('/other')])
    await store.compact(await store.revision())
    await store.commit([], [put('/a/2')])
    expect((await next).value?.changes.map((change: Change) => change.key)).toEqual(['/a/2'])
    await watch.return?.()
  })

  it('ends when aborted, waiting or not', async () => {
    const store = await stores.open()
    const abort = new AbortController()
    const watch = store.watch('/', await store.revision(), abort.signal)[Symbol.asyncIterator]()
    const waiting = watch.next()
    const idle = store.watch('/', 1, abort.signal)[Symbol.asyncIterator]()
    abort.abort()
    expect((await waiting).done).toBe(true)
    expect((await watch.next()).done).toBe(true)
    expect((await idle.next()).done).toBe(true)
    const late = store.watch('/', 1, abort.signal)[Symbol.asyncIterator]()
    expect((await late.next()).done).toBe(true)
    await store.commit([], [put('/a')])
  })

  it('tells a slow reader everything, later', async () => {
    const store = await stores.open()
    const start = await store.revision()
    const watch = store.watch('/slow', start, stores.signal)[Symbol.asyncIterator]()
    const first = watch.next()
    await store.commit([], [put('/slow', '0')])
    await first
    for (let i = 1; i <= 300; i++) await store.commit([], [put('/slow', String(i)), put('/fast')])
    const revisions: number[] = []
    while (revisions.length < 300) {
      const { value } = await watch.next()
      for (const change of (value as ChangeBatch).changes) revisions.push(change.revision)
    }
    expect(revisions).toEqual(Array.from({ length: 300 }, (_, i) => start + 2 + i))
    await watch.return?.()
  })
}

async function collect(watch: AsyncIterable<ChangeBatch>, handle: (batch: ChangeBatch) => void): Promise<void> {
  for await (const batch of watch) handle(batch)
}

async function askForProgress(store: Store, next: Promise<IteratorResult<ChangeBatch>>): Promise<ChangeBatch> {
  store.requestProgress()
  return (await next).value
}
