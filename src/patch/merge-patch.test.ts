import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json } from '../api/meta/object.ts'
import { mergePatch } from './merge-patch.ts'

describe('RFC 7386', () => {
  test.each<[Json & object, Json & object, Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{ a: 'foo' }, { a: { b: 1, c: null } }, { a: { b: 1 } }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{}, {}, {}],
  ])('%j + %j = %j', (draft, patch, result) => {
    const sent = structuredClone(patch)
    expect(mergePatch(draft, patch)).toEqual(result)
    expect(patch).toEqual(sent)
  })

  test.each([[[]], ['x'], [1], [null], [true]])('%j is refused', (patch) => {
    expect(() => mergePatch({}, patch)).toThrow(expect.objectContaining({ code: 400 }))
  })

  test('prototypes are out of reach', () => {
    const result = mergePatch({}, JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'))
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(Object.keys(result)).toEqual(['__proto__', 'constructor'])
  })

  test('what was patched in is not shared with the patch', () => {
    const patch = { a: { b: [1] } }
    const result = mergePatch<{ a?: { b: number[] } }>({}, patch)
    result.a?.b.push(2)
    expect(patch).toEqual({ a: { b: [1] } })
  })

  test('twice is as once', () => {
    const object = fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), fc.jsonValue({ maxDepth: 3 }))
    fc.assert(
      fc.property(object, object, (draft, patch) => {
        const once = mergePatch(structuredClone(draft), patch)
        expect(mergePatch(structuredClone(once), patch)).toEqual(once)
      }),
    )
  })
})
