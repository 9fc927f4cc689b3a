import { expect } from 'vitest'
import { seededRandom } from '../../src/base/random.ts'
import type { Change, Revision, Store, Write } from '../../src/store/store.ts'

const KEYS = 40

/** What the commit of a revision writes follows from the revision, so every state there ever was is known. */
export function writesOf(revision: Revision): Write[] {
  const random = seededRandom(revision)
  const first = Math.floor(random.next() * KEYS)
  const count = 1 + Math.floor(random.next() * 3)
  return Array.from({ length: count }, (_, i): Write => {
    const key = `/key/${(first + i) % KEYS}`
    // The first write is never a deletion: every commit changes something and takes its revision.
    if (i > 0 && random.next() < 0.3) return { key }
    const filling = 'x'.repeat(Math.floor(random.next() ** 3 * 3000))
    const value = Buffer.from(`{"key":"${key}","revision":"","filling":"${filling}"}`)
    return { key, value, revisionSlot: value.indexOf('"revision":"') + 12 }
  })
}

function stampedValue(write: Write, revision: Revision): string {
  const text = String(write.value)
  return text.slice(0, write.revisionSlot) + revision + text.slice(write.revisionSlot)
}

/** The state the store must be in, moved forward with it. */
export class StoreModel {
  revision: Revision = 1
  readonly #state = new Map<string, string>()

  advance(to: Revision): void {
    for (; this.revision < to; ) {
      const revision = ++this.revision
      for (const write of writesOf(revision)) {
        if (write.value) this.#state.set(write.key, stampedValue(write, revision))
        else this.#state.delete(write.key)
      }
    }
  }

  /** The store shows exactly what the commits up to its revision make. */
  async verifyState(store: Store): Promise<void> {
    const revision = await store.revision()
    expect(revision).toBeGreaterThanOrEqual(this.revision)
    this.advance(revision)
    const { entries } = await store.list('')
    expect(new Map(entries.map((entry) => [entry.key, String(entry.value)]))).toEqual(this.#state)
  }
}

/** A watch from `after` tells every commit up to the store's revision, each once and whole, in order. */
export async function verifyWatch(store: Store, after: Revision): Promise<void> {
  const last = await store.revision()
  const abort = new AbortController()
  const changes: Change[] = []
  if (after < last) {
    for await (const batch of store.watch('', after, abort.signal)) {
      changes.push(...batch.changes)
      if (batch.revision >= last) break
    }
  }
  abort.abort()
  let at = 0
  for (let revision = after + 1; revision <= last; revision++) {
    const writes = new Map(writesOf(revision).map((write) => [write.key, write]))
    for (; changes[at]?.revision === revision; at++) {
      const { key, entry } = changes[at]!
      const write = writes.get(key)
      expect(entry && String(entry.value)).toBe(write?.value && stampedValue(write, revision))
      writes.delete(key)
    }
    // What is left can only be deletions of keys that were not there.
    expect([...writes.values()].filter((write) => write.value)).toEqual([])
  }
  expect(at).toBe(changes.length)
}
