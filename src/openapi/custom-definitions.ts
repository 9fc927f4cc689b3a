import type { Kind } from '../api/kind.ts'
import type { JsonObject } from '../api/meta/object.ts'
import type { Schema } from '../api/schema/schema.ts'

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const ref = (definition: string) => ({ $ref: `#/definitions/${definition}` })

/** `example.com`, `v1`, `Widget` -> `com.example.v1.Widget` */
export const customDefinitionName = (kind: { group: string; version: string }, type: string) =>
  `${kind.group.split('.').reverse().join('.')}.${kind.version}.${type}`

/** How the fields are described that all objects and lists have. */
export interface CommonFields {
  readonly apiVersion: JsonObject
  readonly kind: JsonObject
  readonly metadata: JsonObject
  readonly listMetadata: JsonObject
}

/** The definitions of a custom kind and of its list. `described` is its schema with descriptions, if there is one. */
export function customDefinitions(
  kind: Kind,
  described: JsonObject | undefined,
  { metadata, listMetadata, ...typeMeta }: CommonFields = PLAIN_FIELDS,
): Record<string, JsonObject> {
  const name = customDefinitionName(kind, kind.kind)
  const body = described ?? fromStructural(kind.schema)
  const properties = (body.properties ?? {}) as JsonObject
  return {
    [name]: {
      ...body,
      type: 'object',
      properties: { ...properties, ...typeMeta, metadata },
      'x-kubernetes-group-version-kind': [gvk(kind, kind.kind)],
    },
    [customDefinitionName(kind, kind.listKind)]: {
      description: `${kind.listKind} is a list of ${kind.kind}`,
      type: 'object',
      required: ['items'],
      properties: {
        ...typeMeta,
        metadata: listMetadata,
        items: { type: 'array', items: ref(name), description: `List of ${kind.plural}.` },
      },
      'x-kubernetes-group-version-kind': [gvk(kind, kind.listKind)],
    },
  }
}

const PLAIN_FIELDS: CommonFields = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: ref(`${META}.ObjectMeta`),
  listMetadata: ref(`${META}.ListMeta`),
}
const gvk = (kind: Kind, name: string): JsonObject => ({ group: kind.group, kind: name, version: kind.version })

const RENAMED: Readonly<Record<string, string>> = {
  preserveUnknownFields: 'x-kubernetes-preserve-unknown-fields',
  embeddedResource: 'x-kubernetes-embedded-resource',
  intOrString: 'x-kubernetes-int-or-string',
  listType: 'x-kubernetes-list-type',
  listMapKeys: 'x-kubernetes-list-map-keys',
  mapType: 'x-kubernetes-map-type',
}
const SCHEMA_KEYS = new Set(['items', 'additionalProperties', 'not'])
const SCHEMA_LIST_KEYS = new Set(['allOf', 'anyOf', 'oneOf'])

/** A structural schema in the words of OpenAPI. Built-in types inside are referred to by name. */
export function fromStructural(schema: Schema): JsonObject {
  if (schema.definition !== undefined) return ref(schema.definition)
  const document: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') {
      document.properties = Object.fromEntries(
        Object.entries(value as Record<string, Schema>).map(([name, field]) => [name, fromStructural(field)]),
      )
    } else if (SCHEMA_KEYS.has(key)) document[key] = fromStructural(value as Schema)
    else if (SCHEMA_LIST_KEYS.has(key)) document[key] = (value as Schema[]).map(fromStructural)
    else document[RENAMED[key] ?? key] = value as JsonObject
  }
  return document
}
