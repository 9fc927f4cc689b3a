import { describe, expect, it } from 'vitest'
import { ApiError } from '../meta/api-error.ts'
import { decodeProtobuf } from './decode.ts'
import { encodeObject } from './encode.ts'

const EXPECTED = { apiVersion: 'v1', kind: 'ConfigMap' }

const size = (value: number) => (value < 128 ? [value] : [(value & 127) | 128, value >> 7])
const text = (field: number, value: string | Buffer) => {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([...size(field * 8 + 2), ...size(bytes.length)]), bytes])
}
const int = (field: number, ...bytes: number[]) => Buffer.from([...size(field * 8), ...bytes])
const message = (field: number, ...parts: Buffer[]) => text(field, Buffer.concat(parts))
const envelope = (apiVersion: string, kind: string, ...parts: Buffer[]) =>
  Buffer.concat([Buffer.from('k8s\0'), message(1, text(1, apiVersion), text(2, kind)), message(2, ...parts)])
const decode = (bytes: Buffer) => decodeProtobuf(bytes, EXPECTED).value

function refusal(bytes: Buffer): ApiError {
  try {
    decode(bytes)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('it was not refused')
}

describe('what Go writes although nobody set it', () => {
  it('is left out where JSON would leave it out', () => {
    const meta = message(1, text(1, 'web'), text(2, ''), text(3, ''), int(7, 0), message(8))
    const spec = message(2, int(5, 0), int(7, 0))
    expect(decode(envelope('apps/v1', 'Deployment', meta, spec))).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {},
    })
  })

  it.each([
    ['a pointer: replicas', message(2, int(1, 0)), { replicas: 0 }],
    ['a pointer: revisionHistoryLimit', message(2, int(6, 0)), { revisionHistoryLimit: 0 }],
    ['a struct: strategy', message(2, message(4)), { strategy: {} }],
  ])('is kept if it was set: %s', (_, spec, expected) => {
    expect(decode(envelope('apps/v1', 'Deployment', spec))).toMatchObject({ spec: expected })
  })

  it('is kept where JSON always has it', () => {
    expect(decode(envelope('v1', 'Node', message(2, message(5, text(1, ''), text(3, '')))))).toMatchObject({
      spec: { taints: [{ key: '', effect: '' }] },
    })
  })
})

describe('shapes', () => {
  const volume = message(2, message(1, text(1, 'v'), message(2, message(19, message(1, text(1, 'c'))))))
  it.each([
    ['an inlined message', 'Pod', volume, { spec: { volumes: [{ name: 'v', configMap: { name: 'c' } }] } }],
    ['a map', 'ConfigMap', message(2, text(1, 'a'), text(2, 'b')), { data: { a: 'b' } }],
    ['a map entry without a value', 'ConfigMap', message(2, text(1, 'a')), { data: { a: '' } }],
    ['a map entry without a key', 'ConfigMap', message(2, text(2, 'b')), { data: { '': 'b' } }],
    ['bytes', 'Secret', message(2, text(1, 'a'), text(2, Buffer.from([0, 255]))), { data: { a: 'AP8=' } }],
    ['a field from the future', 'ConfigMap', Buffer.concat([int(99, 1), int(4, 1)]), { immutable: true }],
    [
      'a message in two pieces',
      'ConfigMap',
      Buffer.concat([message(1, text(1, 'a')), message(1, text(3, 'b'))]),
      { metadata: { name: 'a', namespace: 'b' } },
    ],
    ['the last of two values', 'Secret', Buffer.concat([text(3, 'a'), text(3, 'b')]), { type: 'b' }],
    ['zero as the last of two values', 'Secret', Buffer.concat([text(3, 'a'), text(3, '')]), {}],
  ])('%s', (_, kind, bytes, expected) => {
    expect(decode(envelope('v1', kind, bytes))).toEqual({ apiVersion: 'v1', kind, ...expected })
  })

  it.each([
    ['one by one', [int(4, 1), int(4, 2)]],
    ['packed', [text(4, Buffer.from([1, 2]))]],
  ])('numbers of a list, %s', (_, gids) => {
    const pod = envelope('v1', 'Pod', message(2, message(14, ...gids)))
    expect(decode(pod)).toMatchObject({ spec: { securityContext: { supplementalGroups: [1, 2] } } })
  })

  it('makes __proto__ a field like any other', () => {
    const { data } = decode(envelope('v1', 'ConfigMap', message(2, text(1, '__proto__'), text(2, 'x')))) as {
      data: object
    }
    expect(Object.entries(data)).toEqual([['__proto__', 'x']])
    expect(Object.getPrototypeOf(data)).toBe(Object.prototype)
  })

  it('takes the kind of the path if the envelope has none', () => {
    expect(decode(envelope('', '', message(2, text(1, 'a'), text(2, 'b'))))).toEqual({ ...EXPECTED, data: { a: 'b' } })
  })
})

describe('values', () => {
  const object = (fields: object, kind = 'Pod', apiVersion = 'v1') => ({ apiVersion, kind, ...fields })
  const schema = (fields: object) =>
    object(
      { spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: { type: 'object', ...fields } } }] } },
      'CustomResourceDefinition',
      'apiextensions.k8s.io/v1',
    )
  it.each([
    ['quantities', object({ spec: { hard: { cpu: '500m' } } }, 'ResourceQuota')],
    [
      'a number or a text',
      object({ spec: { minAvailable: '50%', maxUnavailable: 0 } }, 'PodDisruptionBudget', 'policy/v1'),
    ],
    [
      'times',
      object({ metadata: { creationTimestamp: '2026-11-15T22:56:21Z', deletionTimestamp: '1969-12-31T23:59:59Z' } }),
    ],
    ['the first second of all', object({ metadata: { creationTimestamp: '1970-01-01T00:00:00Z' } })],
    [
      'times with microseconds',
      object({ spec: { renewTime: '2026-11-15T22:56:21.000001Z' } }, 'Lease', 'coordination.k8s.io/v1'),
    ],
    [
      'times before the epoch',
      object({ spec: { renewTime: '1969-12-31T23:59:59.999999Z' } }, 'Lease', 'coordination.k8s.io/v1'),
    ],
    ['JSON of any shape', object({ data: { a: [1, null, { b: '' }] } }, 'ControllerRevision', 'apps/v1')],
    [
      'managed fields',
      object({ metadata: { managedFields: [{ fieldsV1: { 'f:a': {} }, time: '2026-01-01T00:00:00Z' }] } }),
    ],
    [
      'lists inside of a map',
      object(
        { status: { userInfo: { extra: { a: ['b', ''], c: [] } } } },
        'SelfSubjectReview',
        'authentication.k8s.io/v1',
      ),
    ],
    ['fractions', schema({ maximum: 1.5, minimum: -0.25 })],
    ['negative numbers', object({ value: -5 }, 'PriorityClass', 'scheduling.k8s.io/v1')],
    ['a schema or a boolean', schema({ additionalProperties: false, additionalItems: { type: 'string' } })],
    ['a schema or true', schema({ additionalProperties: true })],
    ['a schema or a list', schema({ items: [{ type: 'string' }], not: { items: { type: 'integer' } } })],
    ['a schema or names', schema({ dependencies: { a: ['b'], c: { type: 'string' } } })],
    ['any JSON in a schema', schema({ default: [], enum: ['a', 1, null], example: { x: false } })],
  ])('%s come back as they went', (_, value) => expect(decode(encodeObject(value))).toEqual(value))
})

describe('hostile bodies are bad requests', () => {
  const deep = (levels: number) => {
    let schema: Record<string, unknown> = { type: 'string' }
    for (let i = 0; i < levels; i++) schema = { not: schema }
    return encodeObject({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      spec: { versions: [{ schema: { openAPIV3Schema: schema } }] },
    })
  }
  const revision = (json: string) => envelope('apps/v1', 'ControllerRevision', message(2, text(1, json)))
  it.each([
    ['JSON', Buffer.from('{}'), 'does not appear to be a protobuf message'],
    ['nothing but the first bytes', Buffer.from('k8s'), 'does not appear to be a protobuf message'],
    ['an unknown kind', envelope('v1', 'Unheard'), 'no kind "Unheard" is registered for version "v1"'],
    ['a custom kind', envelope('example.com/v1', 'Foo'), 'no kind "Foo" is registered'],
    ['a wrong wire type', envelope('v1', 'ConfigMap', int(1, 1)), 'wrong wireType = 0 for field metadata'],
    ['a group', envelope('v1', 'ConfigMap', Buffer.from([0x4b])), 'illegal wireType 3'],
    ['field zero', envelope('v1', 'ConfigMap', Buffer.from([0x02, 0x00])), 'illegal tag 0'],
    [
      'a message that leaves its parent',
      envelope('v1', 'ConfigMap', Buffer.from([0x0a, 0x7f, 0x0a])),
      'unexpected EOF',
    ],
    [
      'a length without an end',
      envelope('v1', 'ConfigMap', Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])),
      'unexpected EOF',
    ],
    ['a text that is no UTF-8', envelope('v1', 'Secret', text(3, Buffer.from([0xff]))), 'no valid UTF-8'],
    [
      'a year of five digits',
      envelope('v1', 'Pod', message(1, message(8, int(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)))),
      'out of range',
    ],
    ['raw bytes that are no JSON', revision('{'), 'invalid JSON'],
    ['deep JSON', revision('['.repeat(1500) + ']'.repeat(1500)), 'exceeded max depth'],
    ['deep messages', deep(2000), 'exceeded max depth'],
    ['another content', Buffer.concat([envelope('v1', 'ConfigMap'), text(4, 'application/json')]), 'is not supported'],
  ])('%s', (_, bytes, why) => {
    const error = refusal(bytes)
    expect(error.code).toBe(400)
    expect(error.message).toContain(why)
  })
})
