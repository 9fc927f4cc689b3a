import { expect, it } from 'vitest'
import { put, stamped, type TestStores } from './test-store.ts'

export function readContract(stores: TestStores): void {
  it('starts empty at a revision', async () => {
    const store = await stores.open()
    const revision = await store.revision()
    expect(await store.get('/a')).toBeUndefined()
    expect(await store.list('')).toEqual({ entries: [], revision, remaining: 0 })
  })

  const keys = ['/a', '/a/', '/a/1', '/a/10', '/a/2', '/a/é', '/a/\uffee', '/a/\u{1f600}', '/b', '/b/1']
  const pages: [string, string, { after?: string; limit?: number }, string[], number][] = [
    ['everything', '', {}, keys, 0],
    ['a prefix', '/a/', {}, ['/a/', '/a/1', '/a/10', '/a/2', '/a/é', '/a/\uffee', '/a/\u{1f600}'], 0],
    ['a prefix that is a key', '/b', {}, ['/b', '/b/1'], 0],
    ['the first page', '/a/', { limit: 2 }, ['/a/', '/a/1'], 5],
    ['the next page', '/a/', { limit: 2, after: '/a/1' }, ['/a/10', '/a/2'], 3],
    ['the last page', '/a/', { limit: 9, after: '/a/é' }, ['/a/\uffee', '/a/\u{1f600}'], 0],
    ['exactly the rest', '/a/', { limit: 3, after: '/a/2' }, ['/a/é', '/a/\uffee', '/a/\u{1f600}'], 0],
    ['after a key that is not there', '/a/', { limit: 1, after: '/a/11' }, ['/a/2'], 3],
    ['after the last', '/a/', { after: '/a/\u{1f600}' }, [], 0],
    ['after a key before the prefix', '/b', { after: '/a' }, ['/b', '/b/1'], 0],
    ['after a key behind the prefix', '/a/', { after: '/b' }, [], 0],
    ['nothing', '/c', {}, [], 0],
  ]
  it.each(pages)('lists %s in byte order', async (_name, prefix, page, expected, remaining) => {
    const store = await stores.open()
    const revision = await store.commit(
      [],
      [...keys].reverse().map((key) => put(key)),
    )
    for (const at of [undefined, revision]) {
      const got = await store.list(prefix, { ...page, at })
      expect(got.entries.map((entry) => entry.key)).toEqual(expected)
      expect(got.entries.map((entry) => String(entry.value))).toEqual(expected)
      expect([got.remaining, got.revision]).toEqual([remaining, revision])
    }
  })

  it('pages through many keys, each once', async () => {
    const store = await stores.open()
    const all = Array.from({ length: 120 }, (_, i) => `/many/${String((i * 7919) % 120).padStart(4, '0')}`)
    for (let i = 0; i < all.length; i += 40)
      await store.commit(
        [],
        all.slice(i, i + 40).map((key) => put(key)),
      )
    const seen: string[] = []
    for (let after: string | undefined; ; after = seen.at(-1)) {
      const page = await store.list('/many/', { after, limit: 7 })
      seen.push(...page.entries.map((entry) => entry.key))
      expect(page.remaining).toBe(all.length - seen.length)
      if (page.remaining === 0) break
    }
    expect(seen).toEqual([...all].sort())
  })

  it('keeps any bytes', async () => {
    const store = await stores.open()
    const value = Buffer.from([0, 255, 10, 0, 128, 1])
    await store.commit(
      [],
      [
        { key: '/bytes', value },
        { key: '/empty', value: Buffer.alloc(0) },
      ],
    )
    const again = await stores.reopen()
    expect((await again.get('/bytes'))?.value).toEqual(value)
    expect((await again.get('/empty'))?.value).toEqual(Buffer.alloc(0))
  })

  it('keeps a large value', async () => {
    const store = await stores.open()
    const value = Buffer.alloc(1_200_000, 'large ')
    await store.commit([], [{ key: '/large', value }])
    expect((await (await stores.reopen()).get('/large'))?.value.equals(value)).toBe(true)
  })

  const slots: [string, string, string][] = [
    ['in the middle', '{"resourceVersion":"', '"}'],
    ['at the start', '', ' is the revision'],
    ['at the end', 'the revision is ', ''],
    ['after letters of several bytes', '{"é":"', '"}'],
  ]
  it.each(slots)('stamps the revision %s', async (_name, before, after) => {
    const store = await stores.open()
    const first = await store.commit([], [stamped('/a', before, after), put('/b', 'plain')])
    const second = await store.commit([], [stamped('/a', before, after)])
    const text = (revision: number) => before + revision + after
    expect(String((await store.get('/a'))?.value)).toBe(text(second))
    expect(String((await store.get('/a', first))?.value)).toBe(text(first))
    expect((await store.list('/')).entries.map((entry) => String(entry.value))).toEqual([text(second), 'plain'])
    const batches = await stores.batchesUpTo(store.watch('/a', first - 1, stores.signal), second)
    const changes = batches.flatMap((batch) => batch.changes)
    expect(changes.map((change) => String(change.entry?.value))).toEqual([text(first), text(second)])
    expect(String(changes[1]?.previous?.value)).toBe(text(first))
    const again = await stores.reopen()
    expect(String((await again.get('/a'))?.value)).toBe(text(second))
    expect(String((await again.get('/a', first))?.value)).toBe(text(first))
  })
}
