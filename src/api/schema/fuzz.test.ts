import fc from 'fast-check'
import { expect, it } from 'vitest'
import { builtinSchema } from './builtin.ts'
import { checkShape } from './check-shape.ts'
import { decodeJson, strictProblems } from './decode.ts'
import { readJson } from './json-reader.ts'
import { countKeys } from './json-scan.ts'

const pod = builtinSchema('io.k8s.api.core.v1.Pod')
const OPTIONS = { prune: true, defaults: true }
const runs = { numRuns: 500, seed: 7 }

/** Objects made of names that the schema knows, with values that seldom fit. */
const field = fc.constantFrom(
  'metadata',
  'spec',
  'containers',
  'name',
  'labels',
  'ports',
  'env',
  'resources',
  'limits',
  'cpu',
  '__proto__',
  'constructor',
)
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom(null, true, 0, -1.5, 2 ** 53, '', 'x', '1Gi', '2024-01-01T00:00:00Z'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(field, tie('any'), { maxKeys: 6, noNullPrototype: true }),
  ),
})).any
const objects = fc.dictionary(field, value, { maxKeys: 8, noNullPrototype: true })

it('counts the keys of any object, and finds nothing wrong the second time', () => {
  fc.assert(
    fc.property(objects, (object) => {
      const body = decodeJson(Buffer.from(JSON.stringify(object)))
      const draft = body.value as object
      const report = checkShape(draft, pod, OPTIONS)
      expect(report.keys).toBe(countKeys(JSON.parse(body.text)))
      expect(strictProblems(body, report).every((problem) => problem.startsWith('unknown field'))).toBe(true)
      if (report.typeError !== undefined) return
      const once = JSON.stringify(draft)
      expect(checkShape(draft, pod, OPTIONS)).toMatchObject({ unknownFields: [], typeError: undefined })
      expect(JSON.stringify(draft)).toBe(once)
      expect(Object.getPrototypeOf(draft)).toBe(Object.prototype)
    }),
    runs,
  )
})

it('the slow reader and JSON.parse agree on what is JSON', () => {
  const broken = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', '"', '{', ']', ',', ':', '\\', '0', '-', '.', 'e', '\n', 'u'))
    .map(([text, at, char]) => {
      const cut = at % (text.length + 1)
      return text.slice(0, cut) + char + text.slice(cut + 1)
    })
  fc.assert(
    fc.property(fc.oneof(fc.json(), broken), (text) => {
      let isJson = true
      try {
        JSON.parse(text)
      } catch {
        isJson = false
      }
      expect(readJson(text) === undefined).toBe(isJson)
    }),
    { numRuns: 2000, seed: 7 },
  )
})
