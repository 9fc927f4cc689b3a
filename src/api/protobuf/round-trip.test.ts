import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { builtinKinds } from '../kinds/all.ts'
import { ApiError } from '../meta/api-error.ts'
import { apiVersionOf } from '../meta/object.ts'
import type { Schema } from '../schema/schema.ts'
import { decodeProtobuf } from './decode.ts'
import { encodeObject } from './encode.ts'
import { type Message, messageOf } from './messages.ts'

const FORMATS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  quantity: fc.constantFrom('1', '500m', '2Gi', '1e3'),
  'int-or-string': fc.oneof(fc.constantFrom('50%', 'http'), fc.integer({ min: 0, max: 65535 })),
  'date-time': fc.constantFrom('2026-11-15T22:56:21Z', '1970-01-01T00:00:00Z', '0001-01-02T00:00:00Z'),
  'date-time-micro': fc.constantFrom('2026-11-15T22:56:21.123456Z', '1969-12-31T23:59:59.000001Z'),
  byte: fc.constantFrom('AP8=', 'aGVsbG8='),
  int32: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).filter((value) => value !== 0),
}
const SCALARS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: fc.constantFrom('a', 'web', 'öä漢🚢', 'x'.repeat(200)),
  boolean: fc.constant(true),
  integer: fc.maxSafeInteger().filter((value) => value !== 0),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => value !== 0),
}

/** Values that are all set: what is zero may be left out, which is another test. */
function valuesOf(schema: Schema, message: Message | undefined, depth: number): fc.Arbitrary<unknown> {
  const known = FORMATS[schema.format ?? ''] ?? (schema.properties ? undefined : SCALARS[schema.type ?? ''])
  if (known) return known
  if (schema.items) return fc.array(valuesOf(schema.items, message, depth), { minLength: 1, maxLength: 2 })
  if (schema.additionalProperties)
    return fc.dictionary(fc.constantFrom('a', 'b.c/d'), valuesOf(schema.additionalProperties, message, depth), {
      minKeys: 1,
    })
  if (schema.properties && message) return objectsOf(schema, message, depth)
  // A schema or something else, JSON of any shape; or a message that has no fields.
  return message?.fields.length === 0 ? fc.constant({}) : fc.constantFrom({ type: 'string' }, { description: 'x' })
}

function objectsOf(schema: Schema, message: Message, depth: number): fc.Arbitrary<Record<string, unknown>> {
  if (depth > 5) return fc.constant({})
  const fields = fieldsOf(message)
  const model: Record<string, fc.Arbitrary<unknown>> = {}
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const found = fields.get(name)
    if (found) model[name] = fc.memo(() => valuesOf(field, found.message, depth + 1))(1)
  }
  return fc.record(model, { requiredKeys: [] })
}

const fieldsOf = (message: Message): Map<string, { message: Message | undefined }> =>
  new Map([...message.byName, ...message.inlined.flatMap((field) => [...fieldsOf(field.message!)])])

const PARAMETERS = { numRuns: 12, seed: 1 }

describe('encode, then decode, is the same object', () => {
  it.each(builtinKinds.map((kind) => [kind] as const))('$group/$version $kind', (kind) => {
    const message = messageOf(kind.schema.definition!)!
    const type = { apiVersion: apiVersionOf(kind), kind: kind.kind }
    fc.assert(
      fc.property(objectsOf(kind.schema, message, 0), (fields) => {
        const object = { ...type, ...fields }
        expect(decodeProtobuf(encodeObject(object), type).value).toEqual(object)
      }),
      PARAMETERS,
    )
  })
})

describe('damaged bodies', () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels: { a: 'b' }, creationTimestamp: '2026-11-15T22:56:21Z' },
    spec: {
      containers: [{ name: 'c', image: 'nginx', resources: { limits: { cpu: '1' } }, ports: [{ containerPort: 80 }] }],
    },
  }
  const bytes = encodeObject(pod)
  const expectNoCrash = (body: Buffer) => {
    try {
      decodeProtobuf(body, pod)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      expect(error.code).toBe(400)
    }
  }

  it('that end too early are refused', () => {
    // Without its first two fields an envelope is an empty object, and that is not for the decoder to judge.
    const start = bytes.indexOf('Pod') + 'Pod'.length + 1
    for (let length = start; length < bytes.length; length++)
      expect(() => decodeProtobuf(bytes.subarray(0, length), pod)).toThrow(ApiError)
  })

  it('never do worse than a bad request', () => {
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.uint8Array({ minLength: 1, maxLength: 8 }), (at, noise) => {
        const damaged = Buffer.from(bytes)
        damaged.set(noise.subarray(0, damaged.length - at), at)
        expectNoCrash(damaged)
      }),
      { numRuns: 2000, seed: 2 },
    )
  })
})
