import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openMemoryStore } from '../embedded.ts'

const key = fc.constantFrom('/a', '/a/b', '/b', '/b/1', '/b/2', '/b/\uffee', '/b/\u{1f600}', '/c/x', '/c/y')
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ put: fc.uniqueArray(key, { minLength: 1, maxLength: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ remove: key }) },
  { weight: 1, arbitrary: fc.record({ compactBack: fc.nat(5) }) },
)
const byBytes = (a: string, b: string) => Buffer.from(a).compare(Buffer.from(b))

it('shows at every kept revision what a list of copies shows', async () => {
  const prefix = fc.constantFrom('', '/', '/a', '/b/', '/c/', '/none')
  const page = fc.record({ prefix, after: fc.option(key, { nil: undefined }), limit: fc.integer({ min: 1, max: 4 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.array(page, { minLength: 1 }), async (steps, pages) => {
      const store = openMemoryStore()
      const past = new Map<number, Map<string, string>>([[1, new Map()]])
      let oldest = 1
      for (const one of steps) {
        const revision = await store.revision()
        const state = new Map(past.get(revision))
        if ('compactBack' in one) {
          oldest = Math.max(oldest, revision - one.compactBack)
          await store.compact(oldest)
          continue
        }
        const value = Buffer.from(`at ${revision}`)
        if ('put' in one) for (const name of one.put) state.set(name, String(value))
        else state.delete(one.remove)
        const writes = 'put' in one ? one.put.map((name) => ({ key: name, value })) : [{ key: one.remove }]
        past.set(await store.commit([], writes), state)
      }
      for (const [at, state] of past) {
        if (at < oldest) continue
        for (const { prefix, after, limit } of pages) {
          const inRange = [...state.keys()].filter(
            (name) => name.startsWith(prefix) && (after === undefined || byBytes(name, after) > 0),
          )
          const expected = inRange.sort(byBytes).slice(0, limit)
          const got = await store.list(prefix, { after, limit, at })
          expect(got.entries.map((entry) => [entry.key, String(entry.value)])).toEqual(
            expected.map((name) => [name, state.get(name)]),
          )
          expect(got.remaining).toBe(inRange.length - expected.length)
        }
      }
    }),
    { numRuns: 150 },
  )
})
