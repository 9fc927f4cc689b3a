import { beforeAll, expect, it } from 'vitest'
import { loadRe2 } from '../base/re2.ts'
import { compileCel, kubernetesLibrary } from './compile.ts'
import type { Library } from './library.ts'

let library: Library
beforeAll(async () => {
  library = kubernetesLibrary(await loadRe2())
})

// The figures follow the cost model that Kubernetes documents for CEL: each row says how its cost adds up, from the
// arguments to the call around them. Rules of schemas have theirs in crd/rule-cost.test.ts.
it.each<[string, number]>([
  // Text: a walk costs a tenth of a unit per character, rounded up.
  ["'Harbour'.upperAscii() == 'HARBOUR'", 2], // walk over 7: 1; compare 7: 1
  [`strings.quote('a "cup" of tea') == strings.quote('tea')`, 4], // walk over 14: 2, over 3: 1; compare the shorter, at most 2 * 3 + 2 = 8: 1
  ["'one two three four'.replace('', '-').lowerAscii()", 8], // two walks over 18: 4; then over 18 + 19 = 37: 4
  ["'one two three four'.replace('e', 'eee').trim()", 10], // two walks over 18: 4; then over at most 18 * 3 = 54: 6
  ["'red;green;blue;violet'.split(';', 2).size()", 6], // two walks over 21: 5; a call: 1
  ["'timetable'.substring(4)", 1], // walk over 9: 1
  ["'harbour master'.contains('master')", 2], // 14 characters: 2, times 6: 1
  ["'harbour'.startsWith('harb')", 1], // walk over 4: 1
  ["'platform 9 to 12'.find('[0-9]+')", 4], // 17 characters: 2, times a quarter of the pattern of 6: 2
  ["'platform 9 to 12'.matches('p.*')", 2], // 17 characters: 2, times a quarter of the pattern of 3: 1
  ["bytes('tea')", 1], // walk over 3: 1
  // Values of Kubernetes: parsing walks over the text, everything else is a call.
  ["quantity('1500m').isGreaterThan(quantity('1'))", 3], // 5 characters: 1; 1 character: 1; a call: 1
  ["quantity('7k').add(quantity('1k')).asInteger() == 8000", 5], // two parsed: 2; two calls: 2; compare numbers: 1
  ["semver('10.0.0-alpha.1').major() > 9", 4], // 14 characters: 2; two calls: 2
  ["semver('1.2.3') == semver('1.2.4')", 3], // two parsed: 2; compare at once: 1
  ["url('https://tea.example/menu').getHost()", 4], // 24 characters: 3; a call: 1
  ["ip('10.1.2.3').family()", 2], // 8 characters: 1; a call: 1
  ["cidr('10.0.0.0/8').containsIP('10.1.2.3')", 6], // 10 characters: 1; compare 2 * 16 bytes: 4; parse 8: 1
  ["cidr('10.0.0.0/8').containsCIDR(cidr('10.9.0.0/16'))", 10], // parse 10 and 11: 1 + 2; compare 32: 4; mask 16: 2; a call: 1
  ["format.named('uuid').value().validate('not-a-uuid-but-a-phrase')", 98], // two calls: 2; 23 characters: 3, times the longest pattern 128 / 4 = 32
  ["format.named('date').value() == format.named('uuid').value()", 11], // four calls: 4; compare the longest format 64: 7
  // Lists and maps: a new list costs 10, a new map 30.
  ["'abc' in ['abc', 'd']", 12], // a list: 10; 2 elements: 2
  ['[1, 2][0] + 3', 12], // a list: 10; an index: 1; a call: 1
  ['1 < 2 ? [1, 2] : [1]', 11], // a call: 1; the more expensive branch: 10
  ['[4, 5].sum()', 12], // a list: 10; 2 elements: 2
  ['lists.range(6)', 17], // 6 elements: 6; a call: 1; a list: 10
  ['[1, 2, 3, 4].slice(1, 3)', 23], // a list: 10; 2 elements, a call, a list: 13
  ['[1, 2, 3].reverse()', 24], // a list: 10; 3 elements, a call, a list: 14
  ['[[1], [2]].flatten()', 43], // three lists: 30; 2 elements, a call, a list: 13
  ['[3, 3].distinct()', 29], // a list: 10; 2 * 2 pairs, twice: 8; a call, a list: 11
  ['[3, 1, 2].sort()', 39], // a list: 10; 3 * 3 pairs, twice: 18; a call, a list: 11
  ["['b', 'a'].sort()", 30], // a list: 10; 2 * 2 pairs of text, 2.1 times: 9; a call, a list: 11
  ['sets.contains([5, 6, 7], [6])', 24], // two lists: 20; 3 * 1 pairs: 3; a call: 1
  ['sets.equivalent([1, 2], [2, 1, 1])', 33], // two lists: 20; 2 * 3 pairs, both ways: 12; a call: 1
  ['sets.intersects([[1], [2]], [[3]])', 53], // five lists: 50; 2 * 1 pairs: 2; a call: 1
  // Macros: each is a fold, with a cost at its begin, for each element and at its end (`LOOPS`).
  ["{'x': 4, 'y': 6, 'z': 8}.all(k, v, v > 5)", 46], // a map: 30; 3 * (3 + body 2): 15; end: 1
  ["{'x': 4}.exists(k, v, v > 5)", 37], // a map: 30; 4 + body 2: 6; end: 1
  ["{'x': 4}.existsOne(k, v, v > 5)", 36], // a map: 30; 2 + body 2: 4; end: 2
  ['[4, 6].exists_one(v, v > 5)', 20], // a list: 10; 2 * (2 + body 2): 8; end: 2
  ['[4, 6].filter(v, v > 5)', 51], // a list: 10; begin: 10; 2 * (13 + body 2): 30; end: 1
  ['[4, 6].map(v, v * v)', 51], // a list: 10; begin: 10; 2 * (12 + body 3): 30; end: 1
  ['[4, 6, 8].transformList(i, v, v + i)', 66], // a list: 10; begin: 10; 3 * (12 + body 3): 45; end: 1
  ['[4, 6].transformList(i, v, v > 5, v)', 51], // a list: 10; begin: 10; 2 * (12 + bodies 2 + 1): 30; end: 1
  ["{'x': 4}.transformMap(k, v, v * 2)", 66], // a map: 30; begin: 30; 3 + body 2: 5; end: 1
  ["{'x': 4}.transformMap(k, v, v > 3, v)", 67], // a map: 30; begin: 30; 3 + bodies 2 + 1: 6; end: 1
  ["{'x': 4}.transformMapEntry(k, v, {v: k})", 95], // a map: 30; begin: 30; 2 + body 30 + 2: 34; end: 1
  ['[9, 4].sortBy(v, -v)', 80], // two lists: 20; keys 12 + 2 * (12 + body 2): 40; read: 1; 2 * 2 pairs twice, a call, a list: 19
  ['optional.of(3).optMap(n, n + 1)', 17], // the optional, twice: 2; has a value: 1; a new optional: 1; a list: 10; end: 1; body: 2
])('%s costs at most %d', (text, cost) => {
  expect(compileCel(text, { variables: new Map(), library, sizes: { max: 0 } }).cost).toBe(cost)
})

it('is estimated only if the sizes of the variables are given', () => {
  expect(compileCel('1 + 1 == 2', { variables: new Map(), library }).cost).toBe(0)
})
