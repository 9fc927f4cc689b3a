import { expect, it } from 'vitest'
import type { Schema } from './schema.ts'
import { validateValues } from './validate-values.ts'

const matches = (pattern: string, text: string) => new RegExp(pattern).test(text)
const spec = (schema: Schema): Schema => ({ type: 'object', properties: { spec: schema } })
const field = (schema: Schema): Schema => spec({ type: 'object', properties: { x: schema } })
const check = (schema: Schema, value: unknown) =>
  validateValues(value, schema, matches).map((error) => `${error.field}: ${error.message}`)

it.each<[schema: Schema, x: unknown, errors: string[]]>([
  [{ type: 'integer' }, 3, []],
  [{ type: 'integer' }, '3', ['spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"']],
  [{ type: 'integer' }, 1.5, ['spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"']],
  [{ type: 'number' }, 3, []],
  [{ type: 'string' }, null, ['spec.x: Invalid value: "null": spec.x in body must be of type string: "null"']],
  [{ type: 'string', nullable: true }, null, []],
  [
    { intOrString: true },
    true,
    ['spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"'],
  ],
  [{ intOrString: true }, '50%', []],
  [{ type: 'string', enum: ['a', 'b'] }, 'c', ['spec.x: Unsupported value: "c": supported values: "a", "b"']],
  [
    { type: 'integer', minimum: 1 },
    0,
    ['spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1'],
  ],
  [
    { type: 'integer', minimum: 1, exclusiveMinimum: true },
    1,
    ['spec.x: Invalid value: 1: spec.x in body should be greater than 1'],
  ],
  [{ type: 'integer', maximum: 1 }, 2, ['spec.x: Invalid value: 2: spec.x in body should be less than or equal to 1']],
  [{ type: 'integer', multipleOf: 5 }, 7, ['spec.x: Invalid value: 7: spec.x in body should be a multiple of 5']],
  [
    { type: 'string', minLength: 2 },
    '😀',
    ['spec.x: Invalid value: "😀": spec.x in body should be at least 2 chars long'],
  ],
  [{ type: 'string', maxLength: 2 }, 'abc', ['spec.x: Too long: may not be more than 2 bytes']],
  [{ type: 'string', pattern: '^a+$' }, 'b', [`spec.x: Invalid value: "b": spec.x in body should match '^a+$'`]],
  [
    { type: 'string', format: 'ipv4' },
    '1.2.3',
    ['spec.x: Invalid value: "1.2.3": spec.x in body must be of type ipv4: "1.2.3"'],
  ],
  [{ type: 'string', format: 'date-time' }, '2024-01-01T00:00:00Z', []],
  [{ type: 'string', format: 'constructor' }, 'anything', []],
  [{ type: 'array', minItems: 1 }, [], ['spec.x: Invalid value: 0: spec.x in body should have at least 1 items']],
  [{ type: 'array', maxItems: 1 }, [1, 2], ['spec.x: Too many: 2: must have at most 1 items']],
  [
    { type: 'array', items: { type: 'string' } },
    ['a', 1],
    ['spec.x[1]: Invalid value: "integer": spec.x[1] in body must be of type string: "integer"'],
  ],
  [{ type: 'array', listType: 'set', items: { type: 'string' } }, ['a', 'b', 'a'], ['spec.x[2]: Duplicate value: "a"']],
  [
    {
      type: 'array',
      listType: 'map',
      listMapKeys: ['port', 'protocol'],
      items: {
        type: 'object',
        properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
      },
    },
    [{ port: 1 }, { port: 1, protocol: 'UDP' }, { port: 1, protocol: 'TCP' }],
    ['spec.x[2]: Duplicate value: {"port":1,"protocol":"TCP"}'],
  ],
  [
    { type: 'object', required: ['a', 'toString'] },
    {},
    ['spec.x.a: Required value', 'spec.x.toString: Required value'],
  ],
  [{ type: 'object', maxProperties: 1 }, { a: 1, b: 2 }, ['spec.x: Too many: 2: must have at most 1 items']],
  [
    { type: 'object', additionalProperties: { type: 'string' } },
    { a: 1 },
    ['spec.x.a: Invalid value: "integer": spec.x.a in body must be of type string: "integer"'],
  ],
  [{ anyOf: [{ type: 'string' }, { type: 'integer' }] }, 5, []],
  [
    { oneOf: [{ minimum: 1 }, { maximum: 5 }] },
    3,
    ['<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
  ],
  [
    { oneOf: [{ type: 'string' }, { type: 'boolean' }] },
    3,
    ['<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found none valid'],
  ],
  [{ not: { enum: ['a'] } }, 'a', ['<nil>: Invalid value: "": "spec.x" must not validate the schema (not)']],
])('%j with %j', (schema, x, errors) => {
  expect(check(field(schema), { spec: { x } })).toEqual(errors)
})

it('passes over what the schema does not name', () => {
  expect(check(spec({ type: 'object' }), { spec: { free: { a: [1] } }, other: 1 })).toEqual([])
})
