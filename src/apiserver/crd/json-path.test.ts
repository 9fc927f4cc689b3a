import { describe, expect, it } from 'vitest'
import { fieldNames, findAll, parseJsonPath, setField } from './json-path.ts'

const OBJECT = {
  metadata: { labels: { 'a.b/c': 'dotted' } },
  spec: {
    n: 3,
    list: [
      { type: 'Ready', status: 'True' },
      { type: 'Other', status: 'False', size: 5 },
    ],
    empty: null,
  },
}

describe('a path finds', () => {
  it.each<[string, unknown[]]>([
    ['.spec.n', [3]],
    ['.spec.missing.deeper', []],
    ['.spec.empty', [null]],
    ['.spec.list[0].type', ['Ready']],
    ['.spec.list[-1].type', ['Other']],
    ['.spec.list[*].type', ['Ready', 'Other']],
    ['.spec.list[0:1].type', ['Ready']],
    ['.spec.list[?(@.type=="Ready")].status', ['True']],
    [".spec.list[?(@.type=='Other')].status", ['False']],
    ['.spec.list[?(@.size>3)].type', ['Other']],
    ['.spec.list[?(@.size)].type', ['Other']],
    ['.metadata.labels.a\\.b/c', ['dotted']],
    [".metadata.labels['a.b/c']", ['dotted']],
    ['..status', ['True', 'False']],
    ['.constructor', []],
  ])('%s', (text, found) => expect([...findAll(parseJsonPath(text), OBJECT)]).toEqual(found))
})

it.each(['.spec[', '.spec.list[?(x)]', '.spec.list[?(@.a=b)]', '.spec.list[?(@.a==)]', '.spec..', '.a[b]'])(
  '%s is no path',
  (text) => {
    expect(() => parseJsonPath(text)).toThrow()
  },
)

it('knows plain fields, and sets them', () => {
  expect(fieldNames(parseJsonPath('.spec.a'))).toEqual(['spec', 'a'])
  expect(fieldNames(parseJsonPath('.spec.a[0]'))).toBeUndefined()
  const object = { spec: { b: 1 } }
  setField(object, ['spec', 'deep', 'a'], 2)
  expect(object).toEqual({ spec: { b: 1, deep: { a: 2 } } })
})

it('gives up where a path leads to values on too many ways', () => {
  let nested: object = {}
  for (let i = 0; i < 500; i++) nested = { a: nested }
  const [found] = findAll(parseJsonPath('..a..a..a..a..a..b'), nested)
  expect(found).toBeUndefined()
})
