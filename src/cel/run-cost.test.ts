import { beforeAll, describe, expect, it } from 'vitest'
import { loadRe2 } from '../base/re2.ts'
import { compileCel, kubernetesLibrary } from './compile.ts'
import { Budget, type Library } from './library.ts'
import { DYN } from './types.ts'
import { CelBudgetError, fromJson } from './values.ts'

let library: Library
beforeAll(async () => {
  library = kubernetesLibrary(await loadRe2())
})

const SELF = {
  name: 'ten letters', // 11
  count: 3,
  tags: ['a', 'b', 'c'],
  words: ['012345678901', '012345678901'],
  map: { a: 1, b: 2 },
  items: [{ name: 'x', size: 1 }, { name: 'y', size: 2 }], // biome-ignore format: one line
  empty: '',
  address: '192.168.0.1',
}

function costOf(text: string, limit = 1_000_000): number {
  const budget = new Budget(limit)
  compileCel(text, { variables: new Map([['self', DYN]]), library }).evaluate(
    new Map([['self', fromJson(SELF)]]),
    budget,
  )
  return limit - budget.left
}

/** What kube-apiserver counts for the same run; constants are computed once and cost nothing. */
describe('a run costs', () => {
  it.each<[string, number]>([
    // Ways to values.
    ['self', 1],
    ['self.name', 2],
    ['self.items[0].name', 4],
    ['has(self.name)', 1],
    ['has(self.items[0].name)', 3],
    ['self.?name', 2],
    ['self.?other', 1],
    ['self.tags[self.count - 1]', 6],
    ['self.tags[self.map.b]', 5],
    ['[self, self][0]', 14],
    // Constants.
    ['true', 0],
    ['[1, 2, 3]', 0],
    ["{'a': [1]}", 0],
    ['[self.count]', 12],
    ["{'a': self.count}", 32],
    ["duration('1h')", 0],
    ["duration(self.empty + '1h')", 4],
    ["'a' in ['a', 'b']", 0],
    ['self.name in self.tags', 7],
    ["'a' in self.map", 3],
    // Operators.
    ['1 + 1', 1],
    ['!true', 1],
    ['true && false', 0],
    ["self.name == 'ten letters'", 4],
    ["self.name == 'x'", 3],
    ["self.empty == ''", 2],
    ['self.name != self.name', 6],
    ["self.name < 'zzzzzzzzzzzz'", 4],
    ['self.count > 2', 3],
    ["self.name + '!'", 4],
    ['self.tags + self.tags', 5],
    ['self.count > 5 ? self.name : self.empty', 5],
    // Text.
    ["'ABCDEFGHIJ abcdefghij'.lowerAscii()", 3],
    ["'ABCDEFGHIJ abcdefghij'.lowerAscii() == 'abcdefghij ABCDEFGHIJ'.lowerAscii()", 9],
    ["strings.quote('ABCDEFGHIJ abcdefghij')", 3],
    ["'abc 123 def 123'.replace('', 'x')", 3],
    ["'abc 123 def 123'.split(' ')", 3],
    ["'abc 123 def 123'.substring(5, 8)", 2],
    ["'  abc 123 def 123  '.trim()", 2],
    ["['aa', 'bb', 'cc', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].join(' ')", 5],
    ["['aa', 'bb', 'cc', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].join()", 3],
    ["'abc 123 def 123'.find('123')", 2],
    ["'abc 123 def 123'.findAll('123', 1)", 2],
    ["'abc 123 def 123'.matches('[a-z]+ [0-9]+')", 8],
    ["'abc 123 def 123'.contains('123 def 123')", 4],
    ["'abc 123 def 123'.startsWith('abc')", 2],
    ["'01234567890123456789012345678901234567890123456789'.indexOf('123')", 5],
    ["'\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}'.trim()", 1],
    // Lists.
    ['[1, 2, 3, 4, 5].sum()', 5],
    ["['012345678901', '012345678901', '012345678901', '012345678901', '012345678901'].isSorted()", 5],
    ['[uint(1), uint(2)].max()', 2],
    ['self.tags.indexOf(self.name)', 4],
    ['sets.contains([1, 2, 3, 4], [2, 3])', 9],
    ['sets.equivalent([1, 2, 3], [3u, 2.0, 1])', 19],
    ['!sets.intersects([1], [1.1, 2u])', 4],
    ['lists.range(5)', 16],
    ['[1, 2, 3].distinct()', 29],
    ["['a', 'b'].sort()", 19],
    ['[[1], [2, 3]].flatten()', 13],
    ['[1, 2, 3].slice(1, 3)', 13],
    ['[1, 2].reverse()', 13],
    // Libraries of Kubernetes.
    ['quantity("12Mi")', 1],
    ['quantity("200M") == quantity("0.2G") && quantity("0.2G") == quantity("200M")', 6],
    ['quantity("50k").add(20).sub(quantity("100k")).sub(-50000).asInteger() > 0', 7],
    ["ip('192.168.0.1')", 2],
    ["ip('192.168.0.1').family()", 3],
    ["ip('2001:db8:3333:4444:5555:6666:7777:8888') == ip('192.168.0.1')", 7],
    ["ip.isCanonical('2001:db8::abcd')", 3],
    ["cidr('192.168.0.0/16').containsCIDR(cidr('192.0.0.0/30'))", 7],
    ["cidr('192.168.0.0/16').containsIP('192.169.0.1')", 5],
    ["cidr('2001:db8::/32').containsIP(ip('2001:db8::1'))", 5],
    ["cidr('192.168.0.0/16').ip()", 3],
    ["url('https://kubernetes.io/').getHost()", 4],
    ['semver("1234.56789012345.67890123456789")', 4],
    ['semver("1.0.0").isLessThan(semver("1.1.0"))', 3],
    ['format.named("dns1123Label").value().validate("my-name")', 10],
    ['format.named("dns1123Subdomain").value().validate("my-name")', 17],
    ['format.named("dns1123Label").value() == format.named("dns1123Label").value()', 5],
    // Macros.
    ["{'a': 1, 'b': 2}.all(k, v, v > 0)", 11],
    ["{'a': 1, 'b': 2}.exists(k, v, v > 0)", 10],
    ["{'a': 1, 'b': 2}.existsOne(k, v, v > 0)", 10],
    ["{'a': 1, 'b': 2}.transformMap(k, v, v + 1)", 11],
    ["{'a': 1, 'b': 2}.transformMap(k, v, v < 5, v + 1)", 15],
    ["{'a': 1, 'b': 2}.transformMapEntry(k, v, {k: v + 1})", 71],
    ['[1, 2].all(i, v, v > 0)', 11],
    ['[1, 2].transformList(i, v, v + 1)', 29],
    ['[1, 2].transformList(i, v, v < 5, v + 1)', 33],
    ['[1, 2, 3].all(x, x < 2)', 13],
    ['self.items.filter(x, x.size > 1).size() == 1', 25],
    ['[1, 2].map(x, 7)', 5],
    ['[3, 1].sortBy(x, x)', 48],
    ['self.?name.optMap(n, n.size())', 9],
    ['self.?other.optMap(n, n.size())', 3],
  ])('%s: %d', (text, cost) => {
    expect(costOf(text)).toBe(cost)
  })
})

describe('a run ends', () => {
  it('when it has cost all it may, and not before', () => {
    const text = 'self.tags.all(t, t == t)'
    const cost = costOf(text)
    expect(costOf(text, cost)).toBe(cost)
    expect(() => costOf(text, cost - 1)).toThrow(CelBudgetError)
  })

  it.each([
    [
      'joins that cost little and take long',
      'lists.range(900).all(i, (lists.range(900) + lists.range(900)).size() > 0)',
    ],
    ['comparisons of large values', 'lists.range(3000).all(i, [lists.range(3000)] == [lists.range(3000)])'],
    [
      'text that grows',
      "'x'.replace('', 'y').size() > 0 && lists.range(900000).map(i, 'abcdefghijklm').join().replace('', 'abcdefghijklmnop') == ''",
    ],
  ])('for %s', (_, text) => {
    expect(() => costOf(text)).toThrow(CelBudgetError)
  })
})
