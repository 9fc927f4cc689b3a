import { describe, expect, it } from 'vitest'
import { CachedObject } from './cached-object.ts'
import { copyObject } from './copy-object.ts'
import { ParsedForms } from './parsed-forms.ts'

const entry = (object: object) => ({ key: '/registry/a/b', value: Buffer.from(JSON.stringify(object)), revision: 7 })

describe('an object in the cache', () => {
  it('is parsed once for all who look', () => {
    const cached = new CachedObject(entry({ metadata: { name: 'b' } }))
    expect(cached.object).toBe(cached.object)
    expect(cached.object).toEqual({ metadata: { name: 'b' } })
  })

  it('is not parsed if its parsed form is given', () => {
    const parsed = { metadata: { name: 'b' } }
    expect(new CachedObject(entry({ metadata: { name: 'other' } }), parsed).object).toBe(parsed)
  })

  it.each([{ isParsed: true }, { isParsed: false }])(
    'gives private drafts (parsed before: $isParsed)',
    ({ isParsed }) => {
      const cached = new CachedObject(entry({ metadata: { name: 'b', labels: { a: '1' } } }))
      if (isParsed) expect(cached.object.metadata.name).toBe('b')
      const draft = cached.draft()
      draft.metadata.labels!.a = '2'
      expect(cached.object.metadata.labels).toEqual({ a: '1' })
    },
  )
})

describe('copies of objects', () => {
  it.each([
    '{"metadata":{"name":"a","finalizers":["x"]},"spec":{"list":[{"a":[1,2,[3]]},null,"s",true]}}',
    '{"metadata":{},"data":{"__proto__":{"polluted":"yes"},"constructor":"c","10":"ten"}}',
  ])('are equal and share nothing that can be changed: %s', (json) => {
    const original = JSON.parse(json) as { metadata: object }
    const copy = copyObject(original)
    expect(JSON.stringify(copy)).toBe(JSON.stringify(original))
    expect(sharedParts(original, copy)).toEqual([])
    expect(Object.getPrototypeOf((copy as { data?: object }).data ?? copy)).toBe(Object.prototype)
  })
})

function sharedParts(a: unknown, b: unknown, path = ''): string[] {
  if (typeof a !== 'object' || a === null) return []
  if (a === b) return [path || '.']
  return Object.keys(a).flatMap((name) =>
    sharedParts((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name], `${path}.${name}`),
  )
}

describe('parsed forms', () => {
  it('lets go of the oldest beyond its bytes, and always keeps the newest', () => {
    const forms = new ParsedForms(100)
    const dropped: number[] = []
    for (let i = 0; i < 5000; i++)
      forms.add({ bytes: Buffer.alloc(i === 4999 ? 1000 : 40), dropParsed: () => dropped.push(i) })
    expect(dropped).toEqual(Array.from({ length: 4999 }, (_, i) => i))
  })
})
