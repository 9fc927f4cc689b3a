import { beforeAll, describe, expect, it } from 'vitest'
import { loadRe2 } from '../base/re2.ts'
import { CelCompileError, compileCel, kubernetesLibrary } from './compile.ts'
import { show } from './functions/format-text.ts'
import { Budget, type Library } from './library.ts'
import { type CelType, DYN, formatType, INT, listOf, mapOf, objectOf, STRING } from './types.ts'
import { CelBudgetError, CelError, type CelValue, fromJson } from './values.ts'

let library: Library
beforeAll(async () => {
  library = kubernetesLibrary(await loadRe2())
})

const FIELDS: Record<string, CelType> = {
  name: STRING,
  count: INT,
  tags: listOf(STRING),
  labels: mapOf(STRING, STRING),
  any: DYN,
}
const SELF = objectOf('object', (name) => FIELDS[name])
const variables = new Map([['self', SELF]])
const self = { name: 'web', count: 3, tags: ['a', 'b'], labels: { x: '1', y: '2' }, any: { deep: [1, 2.5, 'z'] } }

const evaluate = (text: string, units = 100_000): CelValue =>
  compileCel(text, { variables, library }).evaluate(new Map([['self', fromJson(self)]]), new Budget(units))

describe('values', () => {
  it.each([
    ['1 + 2 * 3 - 4 / 2 % 3', '5'],
    ['-7 / 2', '-3'],
    ['-7 % 2', '-1'],
    ['7.0 / 2.0', '3.5'],
    ['1u + 2u', '3'],
    ['0xff', '255'],
    ['"a" + \'b\' + """c"d"""', 'abc"d'],
    [String.raw`'\x41\u00e9\n'.size()`, '3'],
    [String.raw`r'\d'`, '\\d'],
    ['b"abc".size()', '3'],
    ['[1, 2] + [3]', '[1, 2, 3]'],
    ['{"a": 1}.a', '1'],
    ['{1: "x"}[1]', 'x'],
    ['[10, 20][1]', '20'],
    ['1 < 2 && 2u > 1u && 1 < 1.5', 'true'],
    ['2 in [1, 2]', 'true'],
    ['"a" in {"a": 1}', 'true'],
    ['true ? 1 : 2', '1'],
    ['!true || false', 'false'],
    ['[1, 2] == [1, 2] && {"a": 1} == {"a": 1}', 'true'],
    ['dyn(1) == 1.0', 'true'],
    ['false && (1 / 0 == 1)', 'false'],
    ['(1 / 0 == 1) || true', 'true'],
    ['type(1) == int && type("") == string', 'true'],
    ['int("42") + int(2.9)', '44'],
    ['string(1.5) + string(true) + string(1)', '1.5true1'],
    ['double("1e3")', '1000'],
    ['duration("1h30m").getMinutes()', '90'],
    ['timestamp("2024-02-29T12:30:00Z").getDayOfYear()', '59'],
    ['timestamp("2024-01-01T00:00:00Z").getHours("+02:30")', '2'],
    ['timestamp("2024-01-02T00:00:00Z") - timestamp("2024-01-01T00:00:00Z") == duration("24h")', 'true'],
    ['string(timestamp("2024-01-01T00:00:00.5Z") + duration("1.5s"))', '2024-01-01T00:00:02Z'],
  ])('%s', (text, result) => expect(show(evaluate(text))).toBe(result))
})

describe('fields and macros', () => {
  it.each([
    ['self.name', 'web'],
    ['has(self.name) && !has(self.any.missing)', 'true'],
    ['self.tags.all(t, t.size() == 1)', 'true'],
    ['self.tags.exists(t, t == "b")', 'true'],
    ['self.tags.exists_one(t, t == "b")', 'true'],
    ['self.tags.map(t, t + self.name)', '[aweb, bweb]'],
    ['self.tags.map(t, t != "a", t)', '[b]'],
    ['self.tags.filter(t, t > "a")', '[b]'],
    ['self.labels.all(k, self.labels[k] != "")', 'true'],
    ['self.labels.exists(k, v, k == "y" && v == "2")', 'true'],
    ['self.tags.transformList(i, v, string(i) + v)', '[0a, 1b]'],
    ['self.labels.transformMap(k, v, k + v)', '{x: x1, y: y2}'],
    ['self.labels.transformMapEntry(k, v, {v: k})', '{1: x, 2: y}'],
    ['self.labels.transformMapEntry(k, v, v == "1", {v: k})', '{1: x}'],
    ['[7, 8].transformMapEntry(i, v, {v: i})', '{7: 0, 8: 1}'],
    ['[1, 2, 3].all(x, [4, 5].all(y, x < y))', 'true'],
    ['self.any.deep[1]', '2.5'],
    ['self.?name.orValue("none")', 'web'],
    ['self.labels[?"z"].orValue("none")', 'none'],
    ['self.labels.?z.hasValue()', 'false'],
    ['self.any.?deep[?0].value()', '1'],
    ['optional.of(2).optMap(x, x * 2).value()', '4'],
    ['optional.none().or(optional.of(1)).value()', '1'],
    ['[?optional.none(), ?optional.of(1)]', '[1]'],
    ['{?"a": self.labels[?"x"]}', '{a: 1}'],
    ['[3, 1, 2].sortBy(x, -x)', '[3, 2, 1]'],
  ])('%s', (text, result) => expect(show(evaluate(text))).toBe(result))
})

describe('libraries', () => {
  it.each([
    ['"hello".matches("^h.*o$")', 'true'],
    ['"abc 123".find("[0-9]+")', '123'],
    ['"a1b2".findAll("[0-9]")', '[1, 2]'],
    ['"a,b,c".split(",", 2)', '[a, b,c]'],
    ['"tacocat".charAt(3) + "Hi".lowerAscii() + " x ".trim()', 'ohix'],
    ['"hello".replace("l", "L", 1).substring(1, 4)', 'eLl'],
    ['"hello".indexOf("l") + "hello".lastIndexOf("l")', '5'],
    ['["a", "b"].join("-")', 'a-b'],
    ['"%s has %d of %.2f %x".format(["x", 3, 1.5, 255])', 'x has 3 of 1.50 ff'],
    ['strings.quote("a\\"b")', '"a\\"b"'],
    ['[1, 3, 2].isSorted() || [1, 2].isSorted()', 'true'],
    ['[1, 3].sum() + [1, 3].min() + [1, 3].max()', '8'],
    ['[1, 2, 2].indexOf(2) + [1, 2, 2].lastIndexOf(2)', '3'],
    ['sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])', 'true'],
    ['url("https://user@example.com:80/a%20b?x=1&x=2").getHost()', 'example.com:80'],
    ['url("https://[::1]:80/").getHostname() + url("/path?q").getEscapedPath()', '::1/path'],
    ['url("https://a.b/?x=1&x=2").getQuery()["x"]', '[1, 2]'],
    ['isURL("../x") || isURL("no")', 'false'],
    ['quantity("1.5Gi").isGreaterThan(quantity("1500M"))', 'true'],
    ['quantity("50k").add(20).asInteger()', '50020'],
    ['quantity("1000m") == quantity("1") && isQuantity("1.2Mi") && !isQuantity("x")', 'true'],
    ['ip("192.168.0.1").family() == 4 && ip("::1").isLoopback()', 'true'],
    ['isIP("1.2.3.4") && !isIP("1.2.3") && ip.isCanonical("2001:db8::1")', 'true'],
    ['cidr("192.168.0.0/24").containsIP("192.168.0.7")', 'true'],
    ['cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8")', 'true'],
    ['format.dns1123Label().validate("Not Valid").hasValue()', 'true'],
    ['!format.named("uuid").value().validate("123e4567-e89b-12d3-a456-426614174000").hasValue()', 'true'],
    ['semver("1.2.3").isLessThan(semver("1.10.0")) && isSemver("v1.0", true)', 'true'],
    ['string(base64.decode(base64.encode(b"hi")))', 'hi'],
  ])('%s', (text, result) => expect(show(evaluate(text))).toBe(result))
})

describe('what cannot be computed', () => {
  it.each([
    ['1 / 0', 'division by zero'],
    ['[1, 1].transformMapEntry(i, v, {v: i})', 'insert failed: key 1 already exists'],
    ['9223372036854775807 + 1', 'integer overflow'],
    ['self.labels["z"]', 'no such key: z'],
    ['self.any.missing', 'no such key: missing'],
    ['[1][3]', 'index out of bounds: 3'],
    ['dyn("a") + 1', 'no such overload'],
    ['optional.none().value()', 'optional.none() dereference'],
    ['"a".matches("(")', 'missing'],
    ['self.tags.all(t, self.labels[t] == "")', 'no such key: a'],
  ])('%s', (text, message) => {
    expect(() => evaluate(text)).toThrow(CelError)
    expect(() => evaluate(text)).toThrow(message)
  })
})

describe('what does not compile', () => {
  it.each([
    ['x', "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x\n | ^"],
    ['self.nope', "ERROR: <input>:1:5: undefined field 'nope'\n | self.nope\n | ....^"],
    ['self.count == "a"', "ERROR: <input>:1:12: found no matching overload for '_==_' applied to '(int, string)'"],
    ['self.count + 1.0', "found no matching overload for '_+_' applied to '(int, double)'"],
    ['self.name.size(1)', "found no matching overload for 'size' applied to 'string.(int)'"],
    ['self.name.foo()', "undeclared reference to 'foo' (in container '')"],
    ['self.count.x', "type 'int' does not support field selection"],
    ['self.count.all(x, true)', "expression of type 'int' cannot be range of a comprehension"],
    ['self.tags.all(x, 1)', "expected type 'bool' but found 'int'"],
    ['1 ? 2 : 3', "expected type 'bool' but found 'int'"],
    ['1 +', 'Syntax error'],
    ['"a', 'Syntax error: token recognition error'],
    ['has(1)', 'invalid argument to has() macro'],
    [`${'('.repeat(300)}1${')'.repeat(300)}`, 'expression recursion limit exceeded'],
    ['99999999999999999999', 'invalid int literal'],
  ])('%s', (text, message) => {
    expect(() => compileCel(text, { variables, library })).toThrow(CelCompileError)
    expect(() => compileCel(text, { variables, library })).toThrow(message)
  })
})

it.each([
  ['[1, 2]', 'list(int)'],
  ['{"a": [1.5]}', 'map(string, list(double))'],
  ['self.tags.map(t, t.size())', 'list(int)'],
  ['self.?name', 'optional_type(string)'],
  ['[1, "a"]', 'list(dyn)'],
  ['quantity("1")', 'kubernetes.Quantity'],
])('%s is of type %s', (text, type) => expect(formatType(compileCel(text, { variables, library }).type)).toBe(type))

describe('work', () => {
  it.each([
    ['lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))'],
    ['lists.range(100000).map(x, lists.range(x)).size() > 0'],
    ['"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa!".matches("^(a+)+$") || lists.range(100000).exists(x, false)'],
  ])('%s is given up', (text) => {
    expect(() => evaluate(text)).toThrow(CelBudgetError)
  })
})
