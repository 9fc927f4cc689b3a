import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AnyObject, Bench, definitionOf, failure, typeOf } from './custom-resources.fixture.ts'

let bench: Bench
beforeAll(async () => {
  bench = await Bench.start()
})
afterAll(async () => {
  await bench[Symbol.asyncDispose]()
})

const rule = (text: string, more: object = {}) => ({ rule: text, ...more })
const RULES = 'x-kubernetes-validations'

const definition = definitionOf({
  versions: [
    {
      schema: {
        type: 'object',
        [RULES]: [rule("!self.metadata.name.startsWith('bad')", { message: 'bad name' })],
        properties: {
          spec: {
            type: 'object',
            [RULES]: [
              rule('self.min <= self.max', { messageExpression: "'min %d > max %d'.format([self.min, self.max])" }),
              rule('self.max <= 100', { message: 'too big', reason: 'FieldValueForbidden', fieldPath: '.max' }),
              rule("!has(self.mode) || self.mode == 'a' || self.missing[0] == 1", { message: 'mode' }),
            ],
            properties: {
              min: { type: 'integer', default: 0 },
              max: { type: 'integer', default: 10 },
              mode: { type: 'string' },
              missing: { type: 'array', items: { type: 'integer' } },
              fixed: { type: 'string', [RULES]: [rule('self == oldSelf', { message: 'is immutable' })] },
              once: {
                type: 'string',
                [RULES]: [rule("oldSelf.hasValue() || self == 'new'", { optionalOldSelf: true })],
              },
              'my-name': { type: 'string' },
              namespace: { type: 'string', [RULES]: [rule("self != 'x'")] },
              ports: {
                type: 'array',
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['name'],
                items: {
                  type: 'object',
                  required: ['name'],
                  properties: { name: { type: 'string' }, port: { type: 'integer' } },
                  [RULES]: [rule('self.port >= oldSelf.port', { message: 'ports only grow' })],
                },
              },
              sizes: {
                type: 'object',
                maxProperties: 10,
                additionalProperties: {
                  type: 'string',
                  maxLength: 20,
                  [RULES]: [rule("quantity(self).isLessThan(quantity('1Gi'))")],
                },
              },
              when: {
                type: 'string',
                format: 'date-time',
                [RULES]: [rule("self > timestamp('2020-01-01T00:00:00Z')")],
              },
              either: {
                'x-kubernetes-int-or-string': true,
                [RULES]: [rule('type(self) == int ? self < 5 : self != ""')],
              },
              numbers: {
                type: 'array',
                maxItems: 1000,
                items: { type: 'integer' },
                [RULES]: [rule('self.all(x, self.all(y, x + y >= 0))')],
              },
            },
          },
        },
      },
    },
  ],
})
const widgets = typeOf(definition)
const widget = (name: string, spec: object): AnyObject => ({ metadata: { name }, spec })

beforeAll(async () => {
  await bench.define(definition)
})

describe('rules refuse', () => {
  it.each([
    ['bad-one', {}, '<nil>: Invalid value: "object": bad name'],
    ['a', { min: 20 }, 'spec: Invalid value: "object": min 20 > max 10'],
    ['a', { max: 200 }, 'spec.max: Forbidden: too big'],
    ['a', { mode: 'b' }, 'spec: Invalid value: "object": no such key: missing evaluating rule: mode'],
    ['a', { once: 'old' }, `spec.once: Invalid value: "string": failed rule: oldSelf.hasValue() || self == 'new'`],
    ['a', { namespace: 'x' }, `spec.namespace: Invalid value: "string": failed rule: self != 'x'`],
    ['a', { sizes: { data: '2Gi' } }, 'spec.sizes[data]: Invalid value: "string": failed rule: quantity'],
    ['a', { when: '2019-01-01T00:00:00Z' }, 'spec.when: Invalid value: "string": failed rule: self > timestamp'],
    ['a', { either: 7 }, 'spec.either: Invalid value: "": failed rule: type(self)'],
    [
      'a',
      { numbers: Array.from({ length: 1000 }, () => 1) },
      'spec.numbers: Invalid value: "array": no further validation rules will be run due to call cost exceeds limit for rule',
    ],
  ])('%s %j', async (name, spec, message) => {
    const error = await failure(bench.create(widgets, widget(name, spec)))
    expect(error.code).toBe(422)
    expect(error.message).toContain(message)
  })
})

it('accepts what keeps to them, and compares with what was before', async () => {
  const ports = [
    { name: 'a', port: 1 },
    { name: 'b', port: 2 },
  ]
  const made = await bench.create(widgets, widget('good', { fixed: 'x', once: 'new', either: 'y', ports }))
  const change = (spec: object) => bench.update(widgets, { ...made, spec: { ...(made.spec as object), ...spec } })
  expect((await failure(change({ fixed: 'y' }))).message).toContain('spec.fixed: Invalid value: "string": is immutable')
  const shrunk = [
    { name: 'b', port: 1 },
    { name: 'c', port: 0 },
  ]
  expect((await failure(change({ ports: shrunk }))).message).toContain(
    'spec.ports[0]: Invalid value: "object": ports only grow',
  )
  await change({ once: 'other', ports: [{ name: 'b', port: 3 }] })
})

describe('definitions with rules that cannot work', () => {
  const withRule = (one: object, props: object = {}) =>
    definitionOf({
      plural: 'wrongs',
      kind: 'Wrong',
      versions: [
        {
          spec: {
            properties: { a: { type: 'integer' }, list: { type: 'array', items: { type: 'string', ...props } } },
            [RULES]: [one],
          },
        },
      ],
    })
  const PLACE = 'spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]'

  it.each([
    [rule('self.b == 1'), `${PLACE}.rule`, "compilation failed: ERROR: <input>:1:5: undefined field 'b'"],
    [rule('self.a'), `${PLACE}.rule`, 'cel expression must evaluate to a bool'],
    [rule('self.a =='), `${PLACE}.rule`, 'Syntax error'],
    [rule('true', { messageExpression: 'self.a' }), `${PLACE}.messageExpression`, 'must evaluate to a string'],
    [rule('true', { fieldPath: '.zzz' }), `${PLACE}.fieldPath`, 'does not refer to a valid field'],
    [rule('true', { reason: 'Whatever' }), `${PLACE}.reason`, 'supported values: "FieldValueInvalid"'],
    [
      rule('true', { optionalOldSelf: true }),
      `${PLACE}.optionalOldSelf`,
      'may not be set if oldSelf is not used in rule',
    ],
  ])('%j', async (one, field, message) => {
    const error = await failure(bench.define(withRule(one)))
    expect(error.code).toBe(422)
    expect(error.details?.causes?.map((cause) => cause.field)).toContain(field)
    expect(error.message).toContain(message)
  })

  it('oldSelf of an item that cannot be known again', async () => {
    const error = await failure(bench.define(withRule(rule('true'), { [RULES]: [rule('self == oldSelf')] })))
    expect(error.message).toContain('oldSelf cannot be used on the uncorrelatable portion of the schema within')
  })
})
