import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubernetesObject } from '../meta/object.ts'
import type { Schema } from '../schema/schema.ts'
import { networkKinds } from './network-kinds.ts'

const TEXTS = [
  '',
  'None',
  'web',
  'A',
  '10.0.0.1',
  '010.0.0.1',
  'fd00::1',
  '10.0.0.0/8',
  'TCP',
  'ClusterIP',
  'NodePort',
  'LoadBalancer',
  'ExternalName',
  'Local',
  'ClientIP',
  'SingleStack',
  'RequireDualStack',
  'IPv4',
  'IPv6',
  'FQDN',
  'In',
  'Prefix',
  '__proto__',
]

/** Any value of the schema's shape: fields may be missing, lists and texts empty. */
function shaped(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  if (schema.intOrString) return fc.oneof(fc.integer({ min: -1, max: 70000 }), fc.constantFrom(...TEXTS))
  switch (schema.type) {
    case 'array':
      return fc.array(shaped(schema.items ?? {}, depth + 1), { maxLength: 3 })
    case 'string':
      return fc.constantFrom(...TEXTS)
    case 'integer':
    case 'number':
      return fc.constantFrom(0, -1, 1, 80, 30000, 70000)
    case 'boolean':
      return fc.boolean()
    default:
      return shapedObject(schema, depth)
  }
}

function shapedObject(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (schema.additionalProperties)
    return fc.dictionary(fc.constantFrom(...TEXTS), shaped(schema.additionalProperties, depth + 1), { maxKeys: 3 })
  if (!schema.properties || depth > 8) return fc.constant({})
  const fields = Object.entries(schema.properties).map(([name, field]) => [name, shaped(field, depth + 1)] as const)
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] })
}

const withMeta = (object: unknown) =>
  ({ ...(object as object), metadata: (object as KubernetesObject).metadata ?? {} }) as KubernetesObject

describe.each(networkKinds.map((kind) => [kind.kind, kind] as const))('%s', (_, kind) => {
  it('judges anything of its shape without failing', () => {
    const anything = shaped(kind.schema).map(withMeta)
    fc.assert(
      fc.property(anything, anything, (object, other) => {
        const old = structuredClone(other)
        kind.defaults?.(object)
        kind.defaults?.(old)
        const draft = structuredClone(object)
        kind.prepareCreate?.(draft)
        kind.validate?.(draft)
        kind.prepareUpdate?.(object, old)
        kind.validate?.(object)
        kind.validateUpdate?.(object, old)
        kind.warnings?.(object, old)
        for (const column of kind.columns) column.value(object, 0)
        for (const read of Object.values(kind.selectableFields)) expect(typeof read(object)).toBe('string')
        for (const door of Object.values(kind.subresources)) {
          if (door.type !== 'part') continue
          door.prepareUpdate(object, old)
          door.validateUpdate?.(object, old)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('changes nothing when its defaults run twice', () => {
    fc.assert(
      fc.property(shaped(kind.schema).map(withMeta), (object) => {
        kind.defaults?.(object)
        const once = structuredClone(object)
        kind.defaults?.(object)
        expect(object).toEqual(once)
      }),
      { numRuns: 100 },
    )
  })
})

it('names what discovery shows', () => {
  const rows = networkKinds.map((kind) => [
    `${kind.plural}.${kind.group}`,
    kind.singular,
    kind.shortNames.join(),
    kind.categories.join(),
    kind.namespaced,
    Object.keys(kind.subresources).join(),
  ])
  expect(rows).toEqual([
    ['endpoints.', 'endpoints', 'ep', '', true, ''],
    ['services.', 'service', 'svc', 'all', true, 'status,proxy'],
    ['ingressclasses.networking.k8s.io', 'ingressclass', '', '', false, ''],
    ['ingresses.networking.k8s.io', 'ingress', 'ing', '', true, 'status'],
    ['ipaddresses.networking.k8s.io', 'ipaddress', 'ip', '', false, ''],
    ['networkpolicies.networking.k8s.io', 'networkpolicy', 'netpol', '', true, ''],
    ['servicecidrs.networking.k8s.io', 'servicecidr', '', '', false, 'status'],
    ['endpointslices.discovery.k8s.io', 'endpointslice', '', '', true, ''],
  ])
})
