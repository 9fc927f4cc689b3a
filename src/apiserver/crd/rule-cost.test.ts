import { beforeAll, describe, expect, it } from 'vitest'
import type { JSONSchemaProps } from '../../api/generated/apiextensions-v1.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import { loadRe2, type Re2 } from '../../base/re2.ts'
import { compileRule } from './cel-rule.ts'
import { checkRules } from './cel-rules.ts'
import { schemaSizeOf } from './cel-sizes.ts'

let re2: Re2
beforeAll(async () => {
  re2 = await loadRe2()
})

const text = (maxLength?: number): JSONSchemaProps => ({
  type: 'string',
  ...(maxLength !== undefined && { maxLength }),
})
const list = (items: JSONSchemaProps, maxItems?: number): JSONSchemaProps => ({
  type: 'array',
  items,
  ...(maxItems !== undefined && { maxItems }),
})
const map = (values: JSONSchemaProps, maxProperties?: number): JSONSchemaProps => ({
  type: 'object',
  additionalProperties: values,
  ...(maxProperties !== undefined && { maxProperties }),
})
const object = (properties: Record<string, JSONSchemaProps>, required: string[] = []): JSONSchemaProps => ({
  type: 'object',
  properties,
  required,
})
const NUMBER: JSONSchemaProps = { type: 'number' }
const NAMED = object({ required: text() }, ['required'])
const EITHER: JSONSchemaProps = { 'x-kubernetes-int-or-string': true }
const formatted = (format: string): JSONSchemaProps => ({ type: 'string', format })

// The figures are those that kube-apiserver finds.
describe('the cost of a rule', () => {
  it.each<[string, string, JSONSchemaProps, number]>([
    ['numbers', 'self.all(x, true)', list(NUMBER), 4718591],
    ['ten numbers', 'self.all(x, true)', list(NUMBER, 10), 32],
    ['texts', 'self.all(x, true)', list(text()), 3145727],
    ['booleans', 'self.all(x, true)', list({ type: 'boolean' }), 1887437],
    ['objects with a required field', 'self.all(x, true)', list(NAMED), 555128],
    ['durations', 'self.all(x, true)', list(formatted('duration')), 2359295],
    ['dates', 'self.all(x, true)', list(formatted('date')), 725936],
    ['moments', 'self.all(x, true)', list(formatted('date-time')), 428963],
    ['integers or texts', 'self.all(x, true)', list(EITHER), 4718591],
    ['a map of numbers', 'self.all(x, true)', map(NUMBER), 1348169],
    ['a map of texts', 'self.all(x, true)', map(text(), 3), 11],
    ['a map of booleans', 'self.all(x, true)', map({ type: 'boolean' }), 943718],
    ['a map of objects', 'self.all(x, true)', map(NAMED), 428963],
    ['a map of lists', 'self.all(x, true)', map(list(NUMBER)), 1179647],
    ['a field that may be missing', 'has(self.x)', map(NUMBER), 1],
    ['a part of a text', "self.contains('test')", text(), 314574],
    ['a part of a short text', "self.contains('test')", text(10), 5],
    ['the begin of a text', "self.startsWith('test')", text(), 2],
    ['texts put together', 'size(self + "hello") > size("hello")', text(), 314578],
    ['short texts put together', 'size(self + "hello") > size("hello")', text(4), 7],
    ['an item', 'self[1] == 0.0', list(NUMBER), 2],
    ['texts of a list', 'self[1] == self[1]', list(text()), 314577],
    ['a loop in a loop', 'self.all(x, self.all(y, true))', list(NUMBER, 10), 352],
    ['three loops', 'self.all(x, self.all(y, self.all(z, true)))', list(NUMBER, 10), 3552],
    ['a pattern', 'self.matches("x")', text(), 314574],
    ['a pattern for a short text', 'self.matches("x")', text(50), 22],
    ['a pattern for nothing', '"".matches("(((((((((())))))))))[0-9]")', text(), 7],
    ['no pattern', 'self.matches("")', text(100), 1],
    ['what is equal to an empty text', 'self == "x"', text(0), 1],
    ['bytes', 'self == b"x"', formatted('byte'), 2],
    ['more elements than a request holds', 'self.all(x, x == 0.0)', list(NUMBER, 3 * 1024 * 2048), 25165826],
    ['an integer or text', 'self[0] == 5', list(EITHER), 3],
    ['an object', 'self[0] == null', list(NAMED), 2],
    ['a list in a list', 'self[0][0] == -1.0', list(list(NUMBER)), 3],
    ['maps in a list', 'self.all(x, x.y == 25.2)', list(map(NUMBER), 12), 74],
    ['a value of a map', 'self[0].x > 2.0', list(map(NUMBER)), 4],
    ['an hour', 'self[0].getHours() == 2', list(formatted('duration')), 4],
    ['what a pattern finds', "self.find('[0-9]+') == ''", text(), 629147],
    ['what a pattern finds in a short text', "self.find('[0-9]+') == ''", text(10), 11],
    ['texts joined', "self.join(' ') == 'aa bb'", list(text()), 329853068905],
    ['a few texts joined', "self.join(' ') == 'aa bb'", list(text(10), 10), 43],
    ['sorted texts', 'self.isSorted() == true', list(text()), 329854432052],
    ['a few sorted texts', 'self.isSorted() == true', list(text(10), 10), 52],
    [
      'a part replaced',
      "self.str.replace(self.before, self.after) == 'does not matter'",
      object({ str: text(), before: text(2), after: text(4) }),
      629154,
    ],
    ['a text split', 'self.str.split(self.by) == []', object({ str: text(), by: text() }), 629160],
    ['small letters', "self.lowerAscii() == 'lower!'", text(), 314575],
    ['a size', 'oldSelf.size() == self.size()', map({ type: 'integer' }), 5],
    ['moments of a map', 'self["a"] == self["b"]', map(formatted('date-time')), 8],
    ['a choice', "self.contains('A')", { type: 'string', enum: ['A', 'LongValue'] }, 2],
    ['a quantity', 'isQuantity(self)', { ...EITHER, maxLength: 20 }, 9],
    ['keys and values', 'self.all(x, x.contains(self[x]))', map(text(10), 10), 72],
    ['another of two', 'self.exists(x, x == 1.0)', list(NUMBER, 10), 52],
    ['one of them', 'self.exists_one(x, x == 1.0)', list(NUMBER, 10), 33],
    ['elements made', 'self.map(x, x * 2.0).size() > 0', list(NUMBER, 10), 154],
    ['elements left', 'self.filter(x, x > 0.0).size() > 0', list(NUMBER, 10), 164],
  ])('%s: %s', (_, rule, props, cost) => {
    expect(compileRule({ rule }, props, false, re2, schemaSizeOf(props, false)!).program.cost).toBe(cost)
  })
})

const RULES = 'x-kubernetes-validations'
const PATH = FieldPath.root('schema')
const withRule = (props: JSONSchemaProps, rule: string, more: object = {}): JSONSchemaProps => ({
  ...props,
  [RULES]: [{ rule, ...more }],
})
const ADVICE =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'
const found = (props: JSONSchemaProps, before?: JSONSchemaProps) =>
  [...checkRules(props, before, PATH, re2)].flat().map(({ field, message }) => `${field}: ${message}`)

describe('a rule that could be too expensive', () => {
  const loops = (max?: number) => object({ list: withRule(list(NUMBER, max), 'self.all(x, self.all(y, true))') })

  it('is refused, alone and as a part of the whole', () => {
    const at = `schema.properties[list].${RULES}[0].rule`
    expect(found(loops())).toEqual([
      `${at}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${ADVICE}`,
      `${at}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
      `schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${ADVICE}`,
    ])
  })

  it('is taken with a limit, or where it was already', () => {
    expect(found(loops(10))).toEqual([])
    expect(found(loops(), loops())).toEqual([])
    expect(found({ ...loops(), description: 'changed' }, loops())).toHaveLength(3)
  })

  it('costs as often as its value can be there', () => {
    const item = withRule(text(100), "self.matches('[a-z]+')")
    expect(found(object({ few: list(item, 10) }))).toEqual([])
    const many = found(object({ many: list(list(item, 1000), 200) }))
    expect(many[0]).toContain(
      `schema.properties[many].items.items.${RULES}[0].rule: Forbidden: estimated rule cost exceeds`,
    )
    expect(many[0]).toContain('by factor of 1.7x')
    expect(found(object({ unbounded: list(item) }))[0]).toContain('exceeds budget by factor of 8.7x')
  })

  it('may also be a message', () => {
    const quiet = withRule(list(text()), 'true', { messageExpression: "self.join(' ')" })
    expect(found(object({ list: quiet }))[0]).toContain(
      `schema.properties[list].${RULES}[0].messageExpression: Forbidden: estimated messageExpression cost exceeds`,
    )
  })

  it('counts together with others', () => {
    const some = withRule(list(NUMBER, 1_500_000), 'self.all(x, x == 0.0)')
    const names = Array.from({ length: 20 }, (_, i) => `f${i}`)
    const errors = found(object(Object.fromEntries(names.map((name) => [name, some]))))
    expect(errors).toHaveLength(5)
    expect(errors[4]).toBe(
      `schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.200000x ${ADVICE}`,
    )
  })
})
