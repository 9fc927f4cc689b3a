import { beforeAll, expect, it } from 'vitest'
import { loadRe2 } from '../base/re2.ts'
import { compileCel, kubernetesLibrary } from './compile.ts'
import type { Library } from './library.ts'

let library: Library
beforeAll(async () => {
  library = kubernetesLibrary(await loadRe2())
})

// The figures are those that kube-apiserver finds. Rules of schemas have theirs in crd/rule-cost.test.ts.
it.each<[string, number]>([
  [`'ABCDEFGHIJ abcdefghij'.lowerAscii() == 'abcdefghij ABCDEFGHIJ'.lowerAscii()`, 9],
  [`strings.quote('ABCDEFGHIJ abcdefghij') == strings.quote('ABCDEFGHIJ abcdefghij')`, 11],
  [`'abc 123 def 123'.replace('', 'x')`, 3],
  [`'abc 123 def 123'.split(' ', 1)`, 3],
  [`'abc 123 def 123'.substring(5, 8)`, 2],
  [`'abc 123 def 123'.findAll('123')`, 2],
  [`quantity("12Mi")`, 1],
  [`quantity("200M") == quantity("0.2G") && quantity("0.2G") == quantity("200M")`, 6],
  [`quantity("50k").add(20).sub(quantity("100k")).sub(-50000).asInteger() > 0`, 7],
  [`format.named("dns1123Label").value().validate("my-name")`, 34],
  [`format.named("dns1123Label").value() == format.named("dns1123Label").value()`, 11],
  ['sets.contains([1, 2, 3, 4], [2, 3])', 29],
  ['sets.equivalent([[1.0], [2, 3]], [[1], [2, 3.0]])', 69],
  ['!sets.intersects([1], [1.1, 2u])', 24],
  ['semver("1234.56789012345.67890123456789")', 4],
  ['semver("1.0.0").isLessThan(semver("1.1.0"))', 3],
  [`{'a': 1, 'b': 2}.all(k, v, v > 0)`, 41],
  [`{'a': 1, 'b': 2}.exists(k, v, v > 0)`, 43],
  [`{'a': 1, 'b': 2}.existsOne(k, v, v > 0)`, 40],
  [`{'a': 1, 'b': 2}.transformMap(k, v, v < 5, v + 1)`, 75],
  [`{'a': 1, 'b': 2}.transformMapEntry(k, v, v < 5, {k: v + 1})`, 135],
  ['[1, 2].all(i, v, v > 0)', 21],
  ['[1, 2].transformList(i, v, v < 5, v + 1)', 53],
])('%s costs %d', (text, cost) => {
  expect(compileCel(text, { variables: new Map(), library, sizes: { max: 0 } }).cost).toBe(cost)
})

it('is found only where somebody tells how large things can be', () => {
  expect(compileCel('1 + 1 == 2', { variables: new Map(), library }).cost).toBe(0)
})
