import fc from 'fast-check'
import fastJsonPatch from 'fast-json-patch'
import { describe, expect, test } from 'vitest'
import type { Json } from '../api/meta/object.ts'
import { builtinSchema } from '../api/schema/builtin.ts'
import { jsonPatch, MAX_OPERATIONS } from './json-patch.ts'

const base = () => ({ a: { b: [1, 2, 3], c: 'x' }, 'a/b': 1, 'm~n': 2, n: null })

describe('operations', () => {
  test.each<[string, Json[], Json]>([
    ['add a field', [{ op: 'add', path: '/z', value: 1 }], { ...base(), z: 1 }],
    ['add over a field', [{ op: 'add', path: '/a', value: 1 }], { ...base(), a: 1 }],
    ['add to the middle', [{ op: 'add', path: '/a/b/1', value: 9 }], { ...base(), a: { b: [1, 9, 2, 3], c: 'x' } }],
    ['add to the end', [{ op: 'add', path: '/a/b/-', value: 9 }], { ...base(), a: { b: [1, 2, 3, 9], c: 'x' } }],
    ['add one past the end', [{ op: 'add', path: '/a/b/3', value: 9 }], { ...base(), a: { b: [1, 2, 3, 9], c: 'x' } }],
    ['remove a field', [{ op: 'remove', path: '/a' }], { 'a/b': 1, 'm~n': 2, n: null }],
    ['remove an item', [{ op: 'remove', path: '/a/b/0' }], { ...base(), a: { b: [2, 3], c: 'x' } }],
    [
      'escaped names',
      [
        { op: 'replace', path: '/a~1b', value: 5 },
        { op: 'replace', path: '/m~0n', value: 6 },
      ],
      { ...base(), 'a/b': 5, 'm~n': 6 },
    ],
    ['replace an item', [{ op: 'replace', path: '/a/b/2', value: 0 }], { ...base(), a: { b: [1, 2, 0], c: 'x' } }],
    ['replace a null', [{ op: 'replace', path: '/n', value: 0 }], { ...base(), n: 0 }],
    ['move', [{ op: 'move', from: '/a/c', path: '/c' }], { ...base(), a: { b: [1, 2, 3] }, c: 'x' }],
    ['move onto itself', [{ op: 'move', from: '/a', path: '/a' }], base()],
    [
      'copy is a copy',
      [
        { op: 'copy', from: '/a/b', path: '/d' },
        { op: 'remove', path: '/d/0' },
      ],
      { ...base(), d: [2, 3] },
    ],
    ['test', [{ op: 'test', path: '/a/b', value: [1, 2, 3] }], base()],
    ['test of what is absent', [{ op: 'test', path: '/none', value: null }], base()],
    ['the whole document', [{ op: 'replace', path: '', value: { x: 1 } }], { x: 1 }],
    ['nothing', [], base()],
  ])('%s', (_, operations, result) => {
    const sent = structuredClone(operations)
    expect(jsonPatch(base(), operations)).toEqual(result)
    expect(operations).toEqual(sent)
  })

  test.each<[string, Json]>([
    ['failing test', [{ op: 'test', path: '/a/c', value: 'y' }]],
    ['missing parent', [{ op: 'add', path: '/x/y', value: 1 }]],
    ['parent is no container', [{ op: 'add', path: '/a/c/d', value: 1 }]],
    ['remove of nothing', [{ op: 'remove', path: '/none' }]],
    ['replace of nothing', [{ op: 'replace', path: '/none', value: 1 }]],
    ['leading zero', [{ op: 'replace', path: '/a/b/01', value: 1 }]],
    ['beyond the end', [{ op: 'add', path: '/a/b/4', value: 1 }]],
    ['no index', [{ op: 'add', path: '/a/b/x', value: 1 }]],
    ['negative index', [{ op: 'remove', path: '/a/b/-1' }]],
    ['dash names no item', [{ op: 'remove', path: '/a/b/-' }]],
    ['move into itself', [{ op: 'move', from: '/a', path: '/a/x' }]],
    ['copy of nothing', [{ op: 'copy', from: '/none', path: '/x' }]],
    ['copy without from', [{ op: 'copy', path: '/x' }]],
    ['no value', [{ op: 'add', path: '/x' }]],
    ['unknown operation', [{ op: 'swap', path: '/a' }]],
    ['no path', [{ op: 'add', value: 1 }]],
    ['path without slash', [{ op: 'add', path: 'a', value: 1 }]],
    ['bad escape', [{ op: 'add', path: '/~2', value: 1 }]],
    ['document is no object', [{ op: 'replace', path: '', value: [] }]],
    ['prototype of an object', [{ op: 'add', path: '/__proto__/polluted', value: 1 }]],
    ['prototype of a field', [{ op: 'add', path: '/a/constructor/prototype/polluted', value: 1 }]],
  ])('%s is refused', (_, operations) => {
    expect(() => jsonPatch(base(), operations)).toThrow(
      expect.objectContaining({
        code: 422,
        reason: 'Invalid',
        message: 'the server rejected our request due to an error in our request',
      }),
    )
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  test.each<[Json, number]>([
    [{ op: 'add' }, 400],
    [[1], 400],
    ['x', 400],
    [Array.from({ length: MAX_OPERATIONS + 1 }, () => ({ op: 'test', path: '/n', value: null })), 413],
    [Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '/a', path: `/a/x${i}` })), 413],
  ])('%# is no patch at all', (operations, code) => {
    expect(() => jsonPatch(base(), operations)).toThrow(expect.objectContaining({ code }))
  })

  test('a field named __proto__ is a field', () => {
    const result = jsonPatch({}, [{ op: 'add', path: '/__proto__', value: { x: 1 } }])
    expect(JSON.stringify(result)).toBe('{"__proto__":{"x":1}}')
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
  })
})

describe('against fast-json-patch', () => {
  const document = fc.dictionary(fc.constantFrom('a', 'b', 'c/d', 'e~f'), fc.jsonValue({ maxDepth: 3 }))

  test('a difference that it computed is applied the same', () => {
    fc.assert(
      fc.property(document, document, (from, to) => {
        const before = JSON.parse(JSON.stringify(from)) as Json & object
        const after = JSON.parse(JSON.stringify(to)) as Json & object
        expect(jsonPatch(before, fastJsonPatch.compare(from, after))).toEqual(after)
      }),
    )
  })
})

describe('fields that Go objects always have', () => {
  const add = (path: string) => [{ op: 'add', path, value: {} }]

  test.each<[string, string, Json, string, Json]>([
    ['a status', 'resource.v1.ResourceClaim', {}, '/status/allocation', { status: { allocation: {} } }],
    [
      'one inside',
      'core.v1.Service',
      {},
      '/status/loadBalancer/ingress',
      { status: { loadBalancer: { ingress: {} } } },
    ],
    [
      'one of a list',
      'core.v1.PodSpec',
      { containers: [{}] },
      '/containers/0/resources',
      { containers: [{ resources: {} }] },
    ],
  ])('%s of %s is there', (_, type, draft, path, expected) => {
    expect(jsonPatch(draft as object, add(path), builtinSchema(`io.k8s.api.${type}`))).toEqual(expected)
  })

  test.each<[string, Json, string]>([
    ['core.v1.Pod', {}, '/spec/securityContext/sysctls'],
    ['core.v1.ConfigMap', {}, '/data/key'],
    ['core.v1.Pod', { metadata: {} }, '/metadata/labels/app'],
  ])('pointers and maps of %s are not: %j %s', (type, draft, path) => {
    expect(() => jsonPatch(draft as object, add(path), builtinSchema(`io.k8s.api.${type}`))).toThrow('rejected')
  })
})
