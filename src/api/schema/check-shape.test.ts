import { describe, expect, it } from 'vitest'
import { builtinSchema } from './builtin.ts'
import { checkShape, formatPath } from './check-shape.ts'
import { countKeys } from './json-scan.ts'
import type { Schema } from './schema.ts'

const PRUNE = { prune: true, defaults: true }
const schemas: Record<string, Schema> = {
  Pod: builtinSchema('io.k8s.api.core.v1.Pod'),
  ConfigMap: builtinSchema('io.k8s.api.core.v1.ConfigMap'),
  Secret: builtinSchema('io.k8s.api.core.v1.Secret'),
  Service: builtinSchema('io.k8s.api.core.v1.Service'),
  Deployment: builtinSchema('io.k8s.api.apps.v1.Deployment'),
  Lease: builtinSchema('io.k8s.api.coordination.v1.Lease'),
}
const check = (kind: string, json: string) => {
  const draft = JSON.parse(json)
  return { draft, report: checkShape(draft, schemas[kind]!, PRUNE) }
}

describe('wrong types are worded as the upstream decoder does', () => {
  it.each<[kind: string, json: string, error: string]>([
    [
      'Deployment',
      '{"spec":{"replicas":"x"}}',
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'Deployment',
      '{"spec":{"replicas":1.5}}',
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'Deployment',
      '{"spec":{"replicas":2147483648}}',
      'json: cannot unmarshal number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'Deployment',
      '{"spec":[]}',
      'json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec',
    ],
    [
      'Deployment',
      '{"spec":{"paused":"no"}}',
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool',
    ],
    [
      'Pod',
      '{"spec":{"containers":{}}}',
      'json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    [
      'Pod',
      '{"spec":{"containers":[{"name":"a"},{"name":7}]}}',
      'json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string',
    ],
    [
      'Pod',
      '{"spec":{"containers":["a"]}}',
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container',
    ],
    [
      'ConfigMap',
      '{"metadata":{"labels":{"a":1}}}',
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      'ConfigMap',
      '{"data":{"a":true}}',
      'json: cannot unmarshal bool into Go struct field ConfigMap.data of type string',
    ],
    [
      'ConfigMap',
      '{"data":[]}',
      'json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string',
    ],
    ['ConfigMap', '{"kind":3}', 'json: cannot unmarshal number into Go struct field ConfigMap.kind of type string'],
    ['Secret', '{"data":{"a":"not base64"}}', 'illegal base64 data at input byte 3'],
    ['Secret', '{"data":{"a":"YWJjZ"}}', 'illegal base64 data at input byte 4'],
    ['Secret', '{"data":{"a":1}}', 'json: cannot unmarshal number into Go struct field Secret.data of type []uint8'],
    ['Service', '{"spec":{"ports":[{"targetPort":true}]}}', 'json: cannot unmarshal bool into Go value of type int32'],
    [
      'Pod',
      '{"spec":{"containers":[{"resources":{"limits":{"cpu":"1x"}}}]}}',
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    ['Pod', '{"spec":{"containers":[{"resources":{"limits":{"cpu":"1mm"}}}]}}', "unable to parse quantity's suffix"],
    [
      'Pod',
      '{"spec":{"containers":[{"resources":{"limits":{"cpu":"1.2.3"}}}]}}',
      'unable to parse numeric part of quantity',
    ],
    [
      'ConfigMap',
      '{"metadata":{"creationTimestamp":"yesterday"}}',
      'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
    ],
    [
      'ConfigMap',
      '{"metadata":{"creationTimestamp":"2024-02-30T00:00:00Z"}}',
      'parsing time "2024-02-30T00:00:00Z": day out of range',
    ],
    ['ConfigMap', '{"metadata":{"creationTimestamp":5}}', 'json: cannot unmarshal number into Go value of type string'],
    [
      'Lease',
      '{"spec":{"renewTime":"2024-01-01T00:00:00Z"}}',
      'parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
  ])('%s %s', (kind, json, error) => {
    expect(check(kind, json).report.typeError).toBe(error)
  })

  it('reports the first of several', () => {
    expect(check('Deployment', '{"metadata":{"name":1},"spec":{"replicas":"x"}}').report.typeError).toContain(
      'ObjectMeta.metadata.name',
    )
  })
})

describe('unknown fields', () => {
  it.each<[kind: string, json: string, fields: string[], pruned: string]>([
    ['ConfigMap', '{"foo":1,"data":{"foo":"1"}}', ['foo'], '{"data":{"foo":"1"}}'],
    [
      'Pod',
      '{"spec":{"foo":{"a":[1]},"containers":[{"bar":null}]}}',
      ['spec.foo', 'spec.containers[0].bar'],
      '{"spec":{"containers":[{}]}}',
    ],
    ['Deployment', '{"Spec":{}}', ['Spec'], '{}'],
    [
      'ConfigMap',
      '{"metadata":{"managedFields":[{"fieldsV1":{"f:x":{".":{}}},"foo":1}]}}',
      ['metadata.managedFields[0].foo'],
      '{"metadata":{"managedFields":[{"fieldsV1":{"f:x":{".":{}}}}]}}',
    ],
    [
      'ConfigMap',
      '{"__proto__":{"polluted":true},"metadata":{"constructor":{"a":1},"toString":1}}',
      ['__proto__', 'metadata.constructor', 'metadata.toString'],
      '{"metadata":{}}',
    ],
  ])('%s %s', (kind, json, fields, pruned) => {
    const { draft, report } = check(kind, json)
    expect(report.unknownFields.map(formatPath)).toEqual(fields)
    expect(JSON.stringify(draft)).toBe(pruned)
    expect(report.typeError).toBeUndefined()
  })

  it('are kept when not pruning', () => {
    const draft = { foo: 1 }
    expect(checkShape(draft, schemas.Pod!, { prune: false, defaults: false }).unknownFields).toEqual([['foo']])
    expect(draft).toEqual({ foo: 1 })
  })

  it('are reported at most a hundred times', () => {
    const draft = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x${i}`, i]))
    expect(checkShape(draft, schemas.Pod!, PRUNE).unknownFields).toHaveLength(100)
    expect(draft).toEqual({})
  })
})

it('schemas inside of schemas are pruned in silence, as upstream does', () => {
  const schema = builtinSchema('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps')
  const draft = {
    foo: 1,
    properties: { a: { bar: 1, items: { type: 'string', baz: 1, additionalProperties: { x: 1 } } } },
    additionalProperties: false,
    default: { any: [1] },
  }
  const keys = countKeys(draft)
  expect(checkShape(draft, schema, PRUNE)).toMatchObject({
    unknownFields: [['foo'], ['properties', 'a', 'bar']],
    keys,
  })
  expect(draft).toEqual({
    properties: { a: { items: { type: 'string', additionalProperties: {} } } },
    additionalProperties: false,
    default: { any: [1] },
  })
})

it('prototype names never reach a prototype', () => {
  const { draft } = check('ConfigMap', '{"__proto__":{"polluted":1},"data":{"__proto__":"kept","constructor":"c"}}')
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  expect(Object.getPrototypeOf(draft)).toBe(Object.prototype)
  expect(JSON.stringify(draft)).toBe('{"data":{"__proto__":"kept","constructor":"c"}}')
})

describe('null and canonical forms', () => {
  it.each<[kind: string, json: string, result: string]>([
    ['Pod', '{"spec":null,"metadata":{"labels":null,"creationTimestamp":null}}', '{"metadata":{}}'],
    ['ConfigMap', '{"data":{"a":null}}', '{"data":{"a":""}}'],
    ['Pod', '{"spec":{"containers":[null],"tolerations":[]}}', '{"spec":{"containers":[{}],"tolerations":[]}}'],
    [
      'Pod',
      '{"spec":{"containers":[{"resources":{"limits":{"cpu":0.5,"memory":"1024Mi"}}}]}}',
      '{"spec":{"containers":[{"resources":{"limits":{"cpu":"500m","memory":"1Gi"}}}]}}',
    ],
    [
      'ConfigMap',
      '{"metadata":{"creationTimestamp":"2024-01-01T01:00:00.123+01:00"}}',
      '{"metadata":{"creationTimestamp":"2024-01-01T00:00:00Z"}}',
    ],
    [
      'Lease',
      '{"spec":{"renewTime":"2024-01-01T01:00:00.123456+01:00"}}',
      '{"spec":{"renewTime":"2024-01-01T00:00:00.123456Z"}}',
    ],
    ['Secret', '{"data":{"a":"YWJj\\nZGVm"}}', '{"data":{"a":"YWJjZGVm"}}'],
    [
      'Service',
      '{"spec":{"ports":[{"targetPort":"http"},{"targetPort":80,"protocol":"UDP"}]}}',
      '{"spec":{"ports":[{"targetPort":"http","protocol":"TCP"},{"targetPort":80,"protocol":"UDP"}]}}',
    ],
  ])('%s %s', (kind, json, result) => {
    const { draft, report } = check(kind, json)
    expect(JSON.stringify(draft)).toBe(result)
    expect(report).toMatchObject({ unknownFields: [], typeError: undefined })
  })
})

describe('keys', () => {
  it.each<[kind: string, json: string]>([
    [
      'Service',
      '{"spec":{"ports":[{"port":1},{"port":2,"protocol":null}],"selector":{"a":"b"}},"foo":{"bar":[{"x":1}]}}',
    ],
    ['Pod', '{"spec":{"containers":[{"name":"a","ports":[{"containerPort":1}],"env":{"wrong":1}}]},"status":null}'],
    ['ConfigMap', '{"metadata":{"managedFields":[{"fieldsV1":{"f:x":{".":{}}}}]}}'],
  ])('%s %s are those of the text, without defaults', (kind, json) => {
    expect(check(kind, json).report.keys).toBe(countKeys(JSON.parse(json)))
  })
})

describe('custom resources', () => {
  const schema: Schema = {
    type: 'object',
    properties: {
      metadata: builtinSchema('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'),
      spec: {
        type: 'object',
        default: {},
        properties: {
          size: { type: 'integer', default: 3 },
          note: { type: 'string', nullable: true, default: 'none' },
          free: { type: 'object', preserveUnknownFields: true, properties: { known: { type: 'object' } } },
          at: { type: 'string', format: 'date-time' },
        },
      },
    },
  }
  it.each<[json: string, result: string, unknown: string[]]>([
    ['{}', '{"spec":{"size":3,"note":"none"}}', []],
    ['{"spec":{"size":null,"note":null}}', '{"spec":{"size":3,"note":null}}', []],
    [
      '{"spec":{"size":1,"note":"","free":{"a":{"b":1},"known":{"x":1}}}}',
      '{"spec":{"size":1,"note":"","free":{"a":{"b":1},"known":{}}}}',
      ['spec.free.known.x'],
    ],
    [
      '{"metadata":{"foo":1,"labels":null},"spec":{"size":1,"note":"","at":"2024-01-01T01:00:00.5+01:00"}}',
      '{"metadata":{},"spec":{"size":1,"note":"","at":"2024-01-01T01:00:00.5+01:00"}}',
      ['metadata.foo'],
    ],
  ])('%s', (json, result, unknown) => {
    const draft = JSON.parse(json)
    const report = checkShape(draft, schema, PRUNE)
    expect(JSON.stringify(draft)).toBe(result)
    expect(report.unknownFields.map(formatPath)).toEqual(unknown)
    expect(report.keys).toBe(countKeys(JSON.parse(json)))
  })
})
