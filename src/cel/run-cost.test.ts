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
  ship: 'Sea Cloud II', // 12 characters
  note: '',
  berth: 7,
  first: 0,
  flags: ['NL', 'DE'],
  cargo: { tea: 40, rice: 25, salt: 5 },
  holds: [
    { deck: 'upper', tons: 12 },
    { deck: 'lower', tons: 30 },
  ],
}

function costOf(text: string, limit = 1_000_000): number {
  const budget = new Budget(limit)
  compileCel(text, { variables: new Map([['self', DYN]]), library }).evaluate(
    new Map([['self', fromJson(SELF)]]),
    budget,
  )
  return limit - budget.left
}

/** Each row says how its cost adds up in the cost model that Kubernetes documents for CEL. */
describe('a run costs', () => {
  it.each<[string, number]>([
    // Variables and fields cost one each; asking for a field costs nothing.
    ['self', 1], // a variable
    ['self.ship', 2], // a variable, a field
    ['self.cargo.tea', 3], // a variable, two fields
    ['self.holds[1].deck', 4], // a variable, a field, an index, a field
    ['has(self.note)', 1], // a variable
    ['has(self.holds[0].tons)', 3], // a variable, a field, an index
    ['self.?ship', 2], // a variable, a field that is there
    ['self.?mast', 1], // a variable
    ['self.flags[self.first]', 4], // two variables, two fields; an index that is a field costs nothing more
    ['self.flags[self.berth - 6]', 6], // two variables, two fields, a call, an index
    ['[self.berth][0]', 14], // a list: 10; a variable, a field; an index into a new value: 2
    ["{'at': self.berth}.at", 34], // a map: 30; a variable, a field; a field of a new value: 2
    // Constants are computed before the run.
    ["'tea'", 0], // a constant
    ['[[1], [2, 3]]', 0], // a constant
    ["{'a': {'b': 1}}", 0], // a constant
    ["timestamp('2026-03-01T00:00:00Z')", 0], // a conversion of a constant
    ['3 in [1, 2, 3]', 0], // a search in a constant set
    ['self.berth in [7, 8, 9]', 2], // a variable, a field; a search in a constant set
    ["[self.ship, 'x']", 12], // a list: 10; a variable, a field
    ['{self.ship: 1}', 32], // a map: 30; a variable, a field
    ["duration(self.note + '90s')", 4], // a variable, a field; join 0 + 3 characters: 1; a call
    ['self.ship in self.flags', 6], // two variables, two fields; 2 elements: 2
    ["'tea' in self.cargo", 3], // a variable, a field; a key: 1
    // Operators.
    ['2 * 3', 1], // a call
    ['-self.berth', 3], // a variable, a field, a call
    ['!true', 1], // a call
    ['true || false', 0], // no call
    ["self.berth > 9 && self.ship == ''", 3], // a variable, a field, a call; then it is decided
    ["self.berth > 5 || self.ship == ''", 3], // a variable, a field, a call; then it is decided
    ['self.berth > 9 ? self.ship : self.note', 5], // a variable, a field, a call; a variable, a field
    ['self.berth == 7', 3], // a variable, a field; compare: 1
    ["self.ship == 'Sea Cloud II'", 4], // a variable, a field; compare 12 characters: 2
    ["self.ship == 'Sea'", 3], // a variable, a field; compare the shorter 3: 1
    ["self.note == 'x'", 2], // a variable, a field; compare the shorter 0: 0
    ['self.ship != self.ship', 6], // two variables, two fields; compare 12: 2
    ["self.ship < 'Sea Queen III!'", 4], // a variable, a field; compare the shorter 12: 2
    ["self.ship + ' of Amsterdam'", 5], // a variable, a field; join 12 + 13 characters: 3
    ["self.flags + ['FR']", 3], // a variable, a field, a call
    // Text: a walk costs a tenth of a unit per character, rounded up.
    ["'WINDWARD Islands'.lowerAscii()", 2], // walk over 16: 2
    ["'tea'.upperAscii() == 'coffee'.upperAscii()", 3], // walk over 3: 1, over 6: 1; compare 3: 1
    [`strings.quote('say "ahoy"')`, 1], // walk over 10: 1
    ["'port and starboard'.replace('r', 'rr')", 4], // two walks over 18: 4
    ["'port,starboard,bow,stern'.split(',')", 5], // two walks over 24: 5
    ["'lighthouse keeper'.substring(6, 11)", 2], // walk over 17: 2
    ["'   low tide   '.trim()", 2], // walk over 14: 2
    ["['bow', 'stern', 'keel'].join(' + ')", 4], // two walks over the result of 12 + 6: 4
    ["['bow', 'stern', 'keel'].join()", 3], // two walks over the result of 12: 3
    ["'knots: 14'.find('[0-9]+')", 2], // 10 characters: 1, times a quarter of the pattern of 6: 2
    ["'knots: 14, then 9'.findAll('[0-9]')", 4], // 18 characters: 2, times a quarter of the pattern of 5: 2
    ["self.ship.matches('^Sea.*II$')", 8], // a variable, a field; 13 characters: 2, times a quarter of the pattern of 9: 3
    ["'all hands on deck'.contains('hands on deck')", 4], // 17 characters: 2, times 13: 2
    ["'all hands on deck'.endsWith('deck')", 2], // walk over 17: 2
    ["'the reef lies two miles off shore'.indexOf('two')", 3], // walk over 33, rounded down: 3
    ["'\u{1f42c}\u{1f42c}\u{1f42c}\u{1f42c}\u{1f42c}\u{1f42c}\u{1f42c}'.trim()", 1], // walk over 7 characters of two code units each: 1
    // Lists.
    ['[8, 13, 21].sum()', 3], // 3 elements
    ["['anchor chain', 'bollard'].isSorted()", 1], // 12 bytes of text: 1; 7 bytes, rounded down: 0
    ['[2u, 9u].max()', 2], // 2 elements
    ["self.flags.indexOf('DE')", 2], // a variable, a field; two texts of 2 bytes, rounded down: 0
    ['sets.contains([1, 2, 3], [3, 1])', 7], // 3 * 2 pairs: 6; a call
    ['sets.equivalent([4, 5], [5, 4])', 9], // 2 * 2 pairs, both ways: 8; a call
    ['sets.intersects([1, 2], [7, 8, 9])', 7], // 2 * 3 pairs: 6; a call
    ['lists.range(8)', 19], // 8 elements; a call; a list: 10
    ['[1, 2, 3, 4].slice(0, 3)', 14], // 3 elements; a call; a list: 10
    ['[1, 2, 3].reverse()', 14], // 3 elements; a call; a list: 10
    ["'keel'.reverse()", 1], // a call
    ['[[1, 2], [3]].flatten()', 13], // 2 elements; a call; a list: 10
    ['[5, 5, 6, 6].distinct()', 43], // 4 * 4 pairs, twice: 32; a call; a list: 10
    ['[3, 1, 2].sort()', 29], // 3 * 3 pairs, twice: 18; a call; a list: 10
    ["['keel', 'bow'].sort()", 19], // 2 * 2 pairs of text, 2.1 times: 8; a call; a list: 10
    // Values of Kubernetes: parsing walks over the text, everything else is a call.
    ["quantity('250Mi').isLessThan(quantity('1Gi'))", 3], // two parsed: 2; a call
    ["quantity('2k').sub(500).asInteger() == 1500", 4], // parsed: 1; two calls; compare: 1
    ["quantity('1M') == quantity('1000k')", 3], // two parsed: 2; compare at once: 1
    ["ip('10.20.30.40').isLoopback()", 3], // 11 characters: 2; a call
    ["ip('fd00::17') == ip('10.20.30.40')", 4], // 8 characters: 1, 11: 2; compare at once: 1
    ["ip.isCanonical('fd00:0::17')", 2], // two walks over 10: 2
    ["cidr('10.20.0.0/14').containsIP('10.21.0.1')", 4], // 12 characters: 2; two walks over 2 bytes: 1; 9 characters: 1
    ["cidr('fd00::/8').containsIP(ip('fd00::17'))", 3], // 8 characters each: 2; two walks over 1 byte: 1
    ["cidr('10.0.0.0/8').containsCIDR(cidr('10.20.0.0/14'))", 6], // 10 characters: 1, 12: 2; two walks and one over 1 byte: 2; a call
    ["cidr('10.20.0.0/14').prefixLength()", 3], // 12 characters: 2; a call
    ["cidr('10.20.0.0/14').ip()", 3], // 12 characters: 2; a call
    ["url('https://tea.example/menu').getPort()", 4], // 24 characters: 3; a call
    ["semver('3.2.1-rc.10')", 2], // 11 characters: 2
    ["semver('1.9.0').isGreaterThan(semver('1.10.0'))", 3], // two parsed: 2; a call
    ["format.named('qualifiedName').value().validate('tea/cup')", 17], // two calls; 8 characters: 1, times a quarter of the pattern of 60: 15
    ["format.named('dns1035Label').value().validate('tea-and-coffee')", 18], // two calls; 15 characters: 2, times a quarter of the pattern of 30: 8
    ["format.named('date').value() == format.named('uuid').value()", 5], // four calls; compare at once: 1
    // Macros: go on 2 or 3, read 1, the body, and 1 to read the result; adding to a list costs 10.
    ["{'x': 4, 'y': 6, 'z': 8}.all(k, v, v > 3)", 16], // 3 * (2 + 1 + body 2): 15; the result: 1
    ["{'x': 4, 'y': 6, 'z': 8}.exists(k, v, v > 100)", 19], // 3 * (3 + 1 + body 2): 18; the result: 1
    ['[4, 6, 8].all(v, v > 100)', 8], // 2 + 1 + body 2: 5; the second does not go on: 2; the result: 1
    ["self.holds.exists(h, h.deck == 'lower')", 17], // a variable, a field; 2 * (3 + 1 + body 3): 14; the result: 1
    ["{'x': 4, 'y': 6}.existsOne(k, v, v == 6)", 9], // body 2 + read 1; body 2 + count 2; the result: 2
    ['[4, 6, 8].filter(v, v > 5)', 34], // body 2 + read 1; 2 * (body 2 + add 13): 30; the result: 1
    ['[4, 6].map(v, v * v)', 31], // 2 * (add 12 + body 3): 30; the result: 1
    ["[4, 6].map(v, 'same')", 5], // 2 * 2, as a list of a constant is made before the run: 4; the result: 1
    ['[4, 6].map(v, v > 5, v)', 19], // condition 2 + read 1; condition 2 + add 12 + body 1; the result: 1
    ['[4, 6].transformList(i, v, i + v)', 31], // 2 * (add 12 + body 3): 30; the result: 1
    ["{'x': 4}.transformMap(k, v, v + 2)", 6], // add 3 + body 2; the result: 1
    ["{'x': 4, 'y': 6}.transformMap(k, v, v > 5, v)", 10], // condition 2 + read 1; condition 2 + add 3 + body 1; the result: 1
    ["{'x': 4}.transformMapEntry(k, v, {v: k})", 35], // add 2 + body 30 + 2; the result: 1
    ['[9, 4].sortBy(v, -v)', 50], // 2 * (add 12 + body 2): 28; three reads: 3; 2 * 2 pairs twice, a call, a list: 19
    ['self.?berth.optMap(n, n * 2)', 9], // read twice: 4; two calls; body 2; a new optional: 1
    ['self.?mast.optMap(n, n * 2)', 3], // read: 1; two calls
    ["self.?mast.orValue('none')", 2], // read: 1; a call
  ])('%s: %d', (text, cost) => {
    expect(costOf(text)).toBe(cost)
  })
})

describe('a run ends', () => {
  it('when the budget is spent, and not before', () => {
    const text = 'self.flags.all(flag, flag == flag)'
    const cost = costOf(text)
    expect(costOf(text, cost)).toBe(cost)
    expect(() => costOf(text, cost - 1)).toThrow(CelBudgetError)
  })

  it.each([
    [
      'lists that cost little to join and take long',
      'lists.range(900).all(i, (lists.range(900) + lists.range(900)).size() > 0)',
    ],
    ['comparisons of large values', 'lists.range(3000).all(i, [lists.range(3000)] == [lists.range(3000)])'],
    [
      'text that grows with each step',
      "'x'.replace('', 'y').size() > 0 && lists.range(900000).map(i, 'abcdefghijklm').join().replace('', 'abcdefghijklmnop') == ''",
    ],
  ])('for %s', (_, text) => {
    expect(() => costOf(text)).toThrow(CelBudgetError)
  })
})
