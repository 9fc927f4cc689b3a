import { describe, expect, it } from 'vitest'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../../../generated/apiextensions-v1.ts'
import { describeRules, describeUpdateRules, type RuleRow } from '../../core/rules.contract.ts'
import { customResourceDefinitionKind } from './kind.ts'

const version = (): CustomResourceDefinitionVersion => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
    },
  },
})
const definition = (): CustomResourceDefinition => ({
  metadata: { name: 'boats.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'boats', kind: 'Boat' },
    versions: [version()],
  },
})
const change =
  <T extends keyof CustomResourceDefinitionVersion>(field: T, value: CustomResourceDefinitionVersion[T]) =>
  (draft: CustomResourceDefinition) => {
    draft.spec.versions[0]![field] = value
  }
const SCHEMA = 'spec.versions[0].schema.openAPIV3Schema'
/** The schema of `spec.x` in the object. */
const field = (what: string, schema: JSONSchemaProps, ...errors: string[]): RuleRow<CustomResourceDefinition> => [
  what,
  (draft) => {
    draft.spec.versions[0]!.schema = { openAPIV3Schema: { type: 'object', properties: { x: schema } } }
  },
  ...errors.map((error) => `${SCHEMA}.properties[x]${error}`),
]

describeRules(customResourceDefinitionKind, definition(), [
  ['no spec', (draft) => Object.assign(draft, { spec: undefined }), 'spec: Required value'],
  [
    'another name',
    (draft) => {
      draft.metadata.name = 'boat.example.com'
    },
    'metadata.name: Invalid value: "boat.example.com": must be spec.names.plural+"."+spec.group',
  ],
  [
    'a group without dot',
    (draft) => {
      draft.spec.group = 'example'
      draft.metadata.name = 'boats.example'
    },
    'spec.group: Invalid value: "example": should be a domain with at least one dot',
  ],
  [
    'a group of the community',
    (draft) => {
      draft.spec.group = 'boats.k8s.io'
      draft.metadata.name = 'boats.boats.k8s.io'
    },
    'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
  ],
  [
    'nowhere',
    (draft) => {
      draft.spec.scope = 'Global'
    },
    'spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"',
  ],
  [
    'no names',
    (draft) => {
      draft.spec.names = {} as never
      delete draft.metadata.name
    },
    'spec.names.plural: Required value',
    'spec.names.singular: Required value',
    'spec.names.kind: Required value',
    'spec.names.listKind: Required value',
  ],
  [
    'the same list kind',
    (draft) => {
      draft.spec.names.listKind = 'Boat'
    },
    'spec.names.listKind: Invalid value: "Boat": kind and listKind may not be the same',
  ],
  [
    'keeping unknown fields the old way',
    (draft) => {
      draft.spec.preserveUnknownFields = true
    },
    'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
  ],
  [
    'conversion without webhook',
    (draft) => {
      draft.spec.conversion = { strategy: 'Webhook' }
    },
    'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
    'spec.conversion.conversionReviewVersions: Required value: must specify one of v1, v1beta1',
  ],
  ['no schema', change('schema', {}), `${SCHEMA}: Required value`],
  [
    'a warning for what is not deprecated',
    change('deprecationWarning', 'old'),
    'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
  ],
  [
    'scale over wrong fields',
    change('subresources', { scale: { specReplicasPath: '.status.a', statusReplicasPath: '' } }),
    'spec.versions[0].subresources.scale.specReplicasPath: Invalid value: ".status.a": should be a json path under .spec',
    'spec.versions[0].subresources.scale.statusReplicasPath: Required value',
  ],
  [
    'columns of no type',
    change('additionalPrinterColumns', [{ name: 'A', type: 'list', jsonPath: 'x' }]),
    'spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "list": must be one of boolean,date,integer,number,string',
    'spec.versions[0].additionalPrinterColumns[0].JSONPath: Invalid value: "x": must be a simple json path starting with .',
  ],
  [
    'selecting by metadata',
    change('selectableFields', [{ jsonPath: '.metadata.uid' }]),
    'spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".metadata.uid": must not point to fields in metadata',
  ],
  [
    'no type at the root',
    change('schema', { openAPIV3Schema: {} }),
    `${SCHEMA}.type: Required value: must not be empty at the root`,
  ],
  field('no type', {}, '.type: Required value: must not be empty for specified object fields'),
  field('any type, said so', { 'x-kubernetes-preserve-unknown-fields': true }),
  field('int or string', { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] }),
  field(
    'an unknown type',
    { type: 'tuple' },
    '.type: Unsupported value: "tuple": supported values: "array", "boolean", "integer", "number", "object", "string"',
  ),
  field('an array of nothing', { type: 'array' }, '.items: Required value: must be specified'),
  field(
    'fields and map values',
    { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } },
    '.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
  ),
  field('a reference', { type: 'object', $ref: '#/x' }, '.$ref: Forbidden: $ref is not supported'),
  field(
    'structure inside a rule',
    { type: 'object', properties: { a: { type: 'string' } }, allOf: [{ properties: { a: { type: 'string' } } }] },
    '.allOf[0].properties[a].type: Forbidden: must be empty to be structural',
  ),
  field(
    'a rule about a field that is not there',
    { type: 'object', anyOf: [{ properties: { b: { minimum: 1 } } }] },
    `.properties[b]: Required value: because it is defined in ${SCHEMA}.properties[x].anyOf[0].properties[b]`,
  ),
  field(
    'a map list without keys',
    { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'map' },
    '.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map',
  ),
  field(
    'a map list with an optional key',
    {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    },
    '.items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
  ),
  field(
    'a rule without text',
    { type: 'string', 'x-kubernetes-validations': [{ rule: ' ' }] },
    '.x-kubernetes-validations[0].rule: Required value: rule is not specified',
  ),
])

const established = (): CustomResourceDefinition => ({
  ...definition(),
  status: { storedVersions: ['v1'], conditions: [{ type: 'Established', status: 'True' }] },
})
describeUpdateRules(customResourceDefinitionKind, established(), [
  [
    'another storage version',
    (draft) => {
      draft.spec.versions[0]!.storage = false
      draft.spec.versions.push({ ...version(), name: 'v2' })
    },
  ],
  [
    'forgetting a stored version',
    (draft) => {
      draft.spec.versions = [{ ...version(), name: 'v2' }]
    },
    'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
  ],
  [
    'another scope and kind',
    (draft) => {
      draft.spec.scope = 'Cluster'
      draft.spec.names.kind = 'Ship'
    },
    'spec.scope: Invalid value: "Cluster": field is immutable',
    'spec.names.kind: Invalid value: "Ship": field is immutable',
  ],
])

describe('CustomResourceDefinition', () => {
  it('gets its names, no conversion, and its stored version', () => {
    const draft = definition()
    customResourceDefinitionKind.defaults?.(draft)
    customResourceDefinitionKind.prepareCreate?.(draft)
    expect(draft.spec.names).toEqual({ plural: 'boats', singular: 'boat', kind: 'Boat', listKind: 'BoatList' })
    expect(draft.spec.conversion).toEqual({ strategy: 'None' })
    expect(draft.status).toEqual({ storedVersions: ['v1'] })
    expect(draft.metadata.generation).toBe(1)
  })

  it('remembers every version that was stored', () => {
    const draft = established()
    draft.spec.versions = [
      { ...version(), storage: false },
      { ...version(), name: 'v2' },
    ]
    customResourceDefinitionKind.prepareUpdate?.(draft, established())
    expect(draft.status?.storedVersions).toEqual(['v1', 'v2'])
  })
})

it('fields that are none are not kept', () => {
  const draft = definition()
  const labels = { type: 'object', properties: {}, additionalProperties: { type: 'string' } }
  const items = { type: 'object', properties: { labels } }
  draft.spec.versions[0]!.schema!.openAPIV3Schema!.properties = { list: { type: 'array', items } }
  customResourceDefinitionKind.defaults?.(draft)
  expect(items.properties).toEqual({ labels: { type: 'object', additionalProperties: { type: 'string' } } })
})
