import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isValidValue } from './is-valid-value.ts'
import type { Schema } from './schema.ts'
import { explainValues } from './validate-values.ts'
import { valuePlanOf } from './value-plan.ts'

const matches = (pattern: string, text: string) => new RegExp(pattern).test(text)
const small = fc.integer({ min: 0, max: 4 })
const text = fc.constantFrom('', 'a', 'b', 'ab', 'TCP', 'é', '😀', '😀😀', '1.2.3.4', '{"name":"a"}')
const scalar = fc.oneof(
  text,
  fc.integer({ min: -3, max: 6 }),
  fc.constantFrom(0.5, 2.5),
  fc.boolean(),
  fc.constant(null),
)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(fc.constantFrom('name', 'a', 'b', 'protocol'), tie('value'), { maxKeys: 4 }),
}))

/** A rule is there half of the time. */
const rules = <T extends Record<string, fc.Arbitrary<unknown>>>(all: T) => fc.record(all, { requiredKeys: [] })

const SIMPLE = {
  type: fc.constantFrom('object', 'array', 'string', 'integer', 'number', 'boolean'),
  format: fc.constantFrom('ipv4', 'constructor', 'int32'),
  intOrString: fc.constant(true),
  nullable: fc.constant(true),
  enum: fc.array(value, { minLength: 1, maxLength: 3 }),
  pattern: fc.constantFrom('^a', 'b$', '^[a-z]*$'),
  minimum: small,
  maximum: small,
  exclusiveMinimum: fc.boolean(),
  exclusiveMaximum: fc.boolean(),
  multipleOf: fc.constantFrom(2, 0.5),
  minLength: small,
  maxLength: small,
  minItems: small,
  maxItems: small,
  uniqueItems: fc.constant(true),
  minProperties: small,
  maxProperties: small,
  default: text,
  listType: fc.constantFrom('atomic', 'set', 'map'),
  listMapKeys: fc.subarray(['name', 'protocol'], { minLength: 1 }),
}

const { schema } = fc.letrec<{ schema: Schema; one: Schema }>((tie) => ({
  schema: fc.oneof({ maxDepth: 2, depthSize: 'small' }, rules(SIMPLE), tie('one')) as fc.Arbitrary<Schema>,
  one: rules({
    ...SIMPLE,
    properties: fc.dictionary(fc.constantFrom('name', 'a', 'protocol'), tie('schema'), { maxKeys: 3 }),
    additionalProperties: tie('schema'),
    items: tie('schema'),
    required: fc.subarray(['name', 'a']),
    allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
    anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
    oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
    not: tie('schema'),
  }) as fc.Arbitrary<Schema>,
}))

it('finds a value valid exactly if nothing is to be said about it', () => {
  const seen = { valid: 0, invalid: 0 }
  fc.assert(
    fc.property(schema, value, (one, tried) => {
      const isValid = isValidValue(tried, valuePlanOf(one), matches)
      seen[isValid ? 'valid' : 'invalid']++
      expect(isValid).toBe(explainValues(tried, one, matches).length === 0)
    }),
    { numRuns: 1000 },
  )
  expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(10)
})

it.each<[items: unknown[], isValid: boolean]>([
  [[{ name: 'a' }, { name: 'b' }], true],
  [[{ name: 'a' }, { name: 'a' }], false],
  [[{ name: 'a' }, { name: 'a', protocol: 'TCP' }], false],
  [[{ name: 'a', protocol: 'UDP' }, { name: 'a' }], true],
  [
    [
      { name: '1"a', protocol: '' },
      { name: '1', protocol: 'a' },
    ],
    true,
  ],
])('tells items apart by their keys: %j', (items, isValid) => {
  const item: Schema = { type: 'object', properties: { protocol: { type: 'string', default: 'TCP' } } }
  const list: Schema = { type: 'array', items: item, listType: 'map', listMapKeys: ['name', 'protocol'] }
  expect(isValidValue(items, valuePlanOf(list), matches)).toBe(isValid)
})
