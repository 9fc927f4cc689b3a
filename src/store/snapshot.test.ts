import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CorruptStoreError } from './corruption.ts'
import { openEmbeddedStore, openMemoryStore } from './embedded.ts'
import { restoreSnapshot, saveSnapshot } from './snapshot.ts'
import type { Store } from './store.ts'

let scratch: string
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'sampan-snapshot-'))
})
afterEach(() => rmSync(scratch, { recursive: true }))
const path = (name: string) => join(scratch, name)

async function fill(store: Store, count: number, value = Buffer.alloc(300, 'x')): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, i) => store.commit([], [{ key: `/k/${i}`, value }])))
}

/** As text: comparing large buffers byte by byte takes the test runner very long. */
async function content(store: Store, at?: number): Promise<string[]> {
  const { entries } = await store.list('', { at })
  return entries.map(({ key, value, revision, created }) => `${key} ${revision} ${created} ${value}`)
}

describe('a snapshot', () => {
  it('brings everything back: keys, values, revisions', async () => {
    const store = openMemoryStore()
    await fill(store, 1200)
    await store.commit([], [{ key: '/k/7', value: Buffer.from('changed '), revisionSlot: 8 }])
    await store.commit([], [{ key: '/k/8' }, { key: '/é\u{1f600}', value: Buffer.alloc(2_000_000, 'big') }])
    const revision = await saveSnapshot(store, path('s'))
    expect(revision).toBe(await store.revision())
    expect(await restoreSnapshot(path('s'), path('restored'))).toBe(revision)
    const restored = await openEmbeddedStore({ directory: path('restored') })
    expect(await content(restored)).toEqual(await content(store))
    expect(await restored.commit([], [{ key: '/next', value: Buffer.from('1') }])).toBe(revision + 1)
    await restored[Symbol.asyncDispose]()
    const again = await openEmbeddedStore({ directory: path('restored') })
    expect((await again.list('')).entries).toHaveLength(1201)
    await again[Symbol.asyncDispose]()
  })

  it('shows one revision although writes go on', async () => {
    const store = openMemoryStore()
    await fill(store, 2000)
    let writing = true
    const writer = (async () => {
      for (let i = 0; writing; i++) {
        const value = Buffer.from(String(i))
        await store.commit(
          [],
          [
            { key: '/k/0', value },
            { key: '/k/1999', value },
          ],
        )
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const revision = await saveSnapshot(store, path('s'))
    writing = false
    await writer
    expect(await store.revision()).toBeGreaterThan(revision)
    await restoreSnapshot(path('s'), path('restored'))
    const restored = await openEmbeddedStore({ directory: path('restored') })
    expect(await content(restored)).toEqual(await content(store, revision))
    await restored[Symbol.asyncDispose]()
  })

  it('starts over when its revision is compacted meanwhile', async () => {
    const store = openMemoryStore()
    await fill(store, 1500)
    let compactions = 0
    const disturbed: Store = Object.assign(Object.create(store) as Store, {
      revision: () => store.revision(),
      list: async (prefix: string, page: { after?: string; limit?: number; at?: number }) => {
        if (page.after && compactions++ < 2)
          await store.compact(await store.commit([], [{ key: '/x', value: Buffer.from('x') }]))
        return store.list(prefix, page)
      },
    })
    expect(await saveSnapshot(disturbed, path('s'))).toBe(await store.revision())
    expect(readdirSync(scratch)).toEqual(['s'])
  })

  const damages: [string, (content: Buffer) => Buffer, number][] = [
    ['cut off in the middle', (content) => content.subarray(0, content.length / 2), 32],
    ['without its end', (content) => content.subarray(0, content.length - 18), -18],
    ['a flipped bit', (content) => content.fill(0, 5000, 5001), 32],
    ['empty', () => Buffer.alloc(0), 0],
    ['something else', () => Buffer.from('{"kind":"List","apiVersion":"v1","items":[]}'), 0],
    ['a newer format', (content) => Buffer.concat([content.subarray(0, 8), Buffer.from([2]), content.subarray(9)]), 0],
    ['something behind its end', (content) => Buffer.concat([content, Buffer.from('x')]), -0],
  ]
  it.each(damages)('is refused when damaged: %s', async (_name, damage, offset) => {
    const store = openMemoryStore()
    await fill(store, 100)
    await saveSnapshot(store, path('s'))
    const whole = readFileSync(path('s'))
    writeFileSync(path('s'), damage(whole))
    const error = await restoreSnapshot(path('s'), path('restored')).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(CorruptStoreError)
    expect(String(error)).toContain(path('s'))
    const expected = Object.is(offset, -0) || offset < 0 ? whole.length + offset : offset
    expect((error as CorruptStoreError).offset).toBe(expected)
    expect(readdirSync(path('restored'))).toEqual([])
  })

  it('goes only into an empty directory that nobody uses', async () => {
    const store = await openEmbeddedStore({ directory: path('used') })
    await saveSnapshot(store, path('s'))
    await expect(restoreSnapshot(path('s'), path('used'))).rejects.toThrow(/in use by process/)
    await store[Symbol.asyncDispose]()
    await expect(restoreSnapshot(path('s'), path('used'))).rejects.toThrow(/not empty/)
    await expect(restoreSnapshot(path('none'), path('fresh'))).rejects.toThrow(/ENOENT/)
  })
})
