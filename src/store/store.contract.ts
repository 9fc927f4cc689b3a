import { afterEach, describe, expect, it } from 'vitest'
import { historyContract } from './contract/history.ts'
import { readContract } from './contract/reads.ts'
import { type OpenStore, put, testStores } from './contract/test-store.ts'
import { watchContract } from './contract/watches.ts'
import { ConflictError, type Write } from './store.ts'

export type { OpenedStore, OpenStore } from './contract/test-store.ts'

/** What every store must do. `open` makes an empty one; with `reopen` what must survive a restart is checked as well. */
export function storeContract(name: string, open: OpenStore): void {
  describe(`${name} store`, () => {
    const stores = testStores(open)
    afterEach(() => stores.dispose())
    describe('commits', () => commitContract(stores))
    describe('reads', () => readContract(stores))
    describe('history', () => historyContract(stores))
    describe('watches', () => watchContract(stores))
  })
}

function commitContract(stores: ReturnType<typeof testStores>): void {
  it('takes the next revision for each commit', async () => {
    const store = await stores.open()
    const start = await store.revision()
    for (let i = 1; i <= 3; i++) expect(await store.commit([], [put(`/a/${i}`)])).toBe(start + i)
    expect(await store.revision()).toBe(start + 3)
  })

  it('writes several keys under one revision', async () => {
    const store = await stores.open()
    await store.commit([], [put('/b', 'old'), put('/c', 'old')])
    const revision = await store.commit([], [put('/a', '1'), put('/b', '2'), { key: '/c' }])
    const { entries } = await store.list('/')
    expect(entries.map(({ key, value, revision }) => [key, String(value), revision])).toEqual([
      ['/a', '1', revision],
      ['/b', '2', revision],
    ])
  })

  it('keeps the revision of creation until the key is deleted', async () => {
    const store = await stores.open()
    const first = await store.commit([], [put('/a', '1')])
    const second = await store.commit([], [put('/a', '2')])
    expect(await store.get('/a')).toMatchObject({ created: first, revision: second })
    await store.commit([], [{ key: '/a' }])
    const again = await store.commit([], [put('/a', '3')])
    expect(await store.get('/a')).toMatchObject({ created: again, revision: again })
  })

  const conditions: [string, (at: Record<string, number>) => [string, number][], string | undefined][] = [
    ['an absent key is absent', () => [['/none', 0]], undefined],
    ['a key is as read', (at) => [['/a', at['/a']!]], undefined],
    [
      'several hold',
      (at) => [
        ['/a', at['/a']!],
        ['/b', at['/b']!],
        ['/none', 0],
      ],
      undefined,
    ],
    ['a key exists that must not', () => [['/a', 0]], '/a'],
    ['an absent key must exist', () => [['/none', 2]], '/none'],
    ['an older revision', (at) => [['/b', at['/b']! - 1]], '/b'],
    ['a future revision', (at) => [['/b', at['/b']! + 100]], '/b'],
    [
      'the second of three fails',
      (at) => [
        ['/a', at['/a']!],
        ['/b', 1],
        ['/none', 7],
      ],
      '/b',
    ],
    ['a deleted key is absent', () => [['/gone', 0]], undefined],
    ['a deleted key is not at its deletion', (at) => [['/gone', at['/gone']!]], '/gone'],
  ]
  it.each(conditions)('condition: %s', async (_name, conditionsAt, conflict) => {
    const store = await stores.open()
    const at: Record<string, number> = {}
    at['/a'] = await store.commit([], [put('/a')])
    at['/b'] = await store.commit([], [put('/b')])
    await store.commit([], [put('/gone')])
    at['/gone'] = await store.commit([], [{ key: '/gone' }])
    const before = await store.revision()
    const expected = conditionsAt(at).map(([key, revision]) => ({ key, revision }))
    const commit = store.commit(expected, [put('/x', '1'), put('/y', '2')])
    if (conflict === undefined) {
      expect(await commit).toBe(before + 1)
      expect((await store.list('/')).entries.map((entry) => entry.key)).toEqual(['/a', '/b', '/x', '/y'])
      return
    }
    const error = await commit.catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ConflictError)
    expect((error as ConflictError).key).toBe(conflict)
    expect(await store.revision()).toBe(before)
    expect((await store.list('/')).entries.map((entry) => entry.key)).toEqual(['/a', '/b'])
  })

  it('lets exactly one of many racing commits win, and the losers see why', async () => {
    const store = await stores.open()
    const revision = await store.commit([], [put('/a', 'start')])
    const race = Array.from({ length: 20 }, async (_, i) => {
      try {
        await store.commit([{ key: '/a', revision }], [put('/a', `winner ${i}`)])
        return `winner ${i}`
      } catch (error) {
        expect(error).toBeInstanceOf(ConflictError)
        const entry = await store.get('/a')
        expect(String(entry?.value)).toMatch(/^winner/)
        expect(entry?.revision).toBe(revision + 1)
        return undefined
      }
    })
    const winners = (await Promise.all(race)).filter((name) => name !== undefined)
    expect(winners).toHaveLength(1)
    expect(String((await store.get('/a'))?.value)).toBe(winners[0])
  })

  const idle: [string, Write[]][] = [
    ['no writes', []],
    ['deleting what is not there', [{ key: '/none' }]],
  ]
  it.each(idle)('takes no revision for %s', async (_name, writes) => {
    const store = await stores.open()
    const revision = await store.commit([], [put('/a')])
    expect(await store.commit([{ key: '/a', revision }], writes)).toBe(revision)
    expect(await store.revision()).toBe(revision)
    await expect(store.commit([{ key: '/a', revision: revision + 5 }], writes)).rejects.toThrow(ConflictError)
    expect(await store.commit([], [put('/b')])).toBe(revision + 1)
  })

  it('ignores a delete of a missing key beside other writes', async () => {
    const store = await stores.open()
    const revision = await store.commit([], [{ key: '/none' }, put('/a')])
    const batch = await stores.firstBatch(store.watch('/', revision - 1, stores.signal))
    expect(batch.changes.map((change) => change.key)).toEqual(['/a'])
  })

  it('refuses to write a key twice in one commit', async () => {
    const store = await stores.open()
    const before = await store.revision()
    await expect(store.commit([], [put('/a', '1'), put('/a', '2')])).rejects.toThrow(/twice/)
    await expect(store.commit([], [put('/a', '1'), { key: '/a' }])).rejects.toThrow(/twice/)
    expect(await store.revision()).toBe(before)
  })

  it('serves many writers at once', async () => {
    const store = await stores.open()
    const start = await store.revision()
    const revisions = await Promise.all(Array.from({ length: 200 }, (_, i) => store.commit([], [put(`/many/${i}`)])))
    expect([...revisions].sort((a, b) => a - b)).toEqual(revisions.map((_, i) => start + 1 + i))
    expect((await store.list('/many/')).entries).toHaveLength(200)
  })
}
