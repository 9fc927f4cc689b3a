import type { JSONSchemaProps } from '../../api/generated/apiextensions-v1.ts'
import { builtinSchema } from '../../api/schema/builtin.ts'
import type { Schema } from '../../api/schema/schema.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** What a custom resource may look like, in the two forms the server needs. */
export interface CustomSchemas {
  /** For reading, pruning, defaulting and merging: metadata is that of every object. */
  readonly shape: Schema
  /** For the rules on values: metadata has only the rules the author gave its name. */
  readonly rules: Schema
}

/** Fields that mean the same in both forms and are copied as they are. */
const COPIED = [
  'format',
  'required',
  'nullable',
  'default',
  'enum',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
] as const

const STRING: Schema = { type: 'string' }
const ANY: Schema = { preserveUnknownFields: true }
const objectMeta = () => builtinSchema('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')

export function customSchemas(props: JSONSchemaProps): CustomSchemas {
  const root = toSchema(props)
  const own = root.properties ?? {}
  const shape = { ...root, properties: withoutPrototype({ ...own, ...typeMeta(own), metadata: objectMeta() }) }
  const rules: Schema = {
    ...root,
    properties: withoutPrototype({ ...own, metadata: own.metadata ?? { type: 'object' } }),
  }
  if (embeds(root)) embedding.add(rules)
  return { shape, rules }
}

const typeMeta = (own: Readonly<Record<string, Schema>>) => ({
  apiVersion: own.apiVersion ?? STRING,
  kind: own.kind ?? STRING,
})

function toSchema(props: JSONSchemaProps): Schema {
  const schema: Mutable<Schema> = {}
  if (props.type) schema.type = props.type as NonNullable<Schema['type']>
  for (const field of COPIED) if (props[field] !== undefined) Object.assign(schema, { [field]: props[field] })
  if (props.properties) schema.properties = mapSchemas(props.properties)
  if (props.items && !Array.isArray(props.items)) schema.items = toSchema(props.items)
  const others = props.additionalProperties
  if (others === true) schema.additionalProperties = ANY
  else if (others) schema.additionalProperties = toSchema(others)
  addCombinations(schema, props)
  addExtensions(schema, props)
  if (schema.embeddedResource || childrenOf(schema).some(embeds)) embedding.add(schema)
  return schema
}

const embedding = new WeakSet<Schema>()

/** If there may be a whole object anywhere below; mostly not. */
export const embeds = (schema: Schema): boolean => embedding.has(schema)

function childrenOf({ properties, items, additionalProperties }: Schema): Schema[] {
  const below = properties ? Object.values(properties) : []
  if (items) below.push(items)
  if (additionalProperties) below.push(additionalProperties)
  return below
}

function addCombinations(schema: Mutable<Schema>, props: JSONSchemaProps): void {
  if (props.allOf) schema.allOf = props.allOf.map(toSchema)
  // Beside x-kubernetes-int-or-string this only repeats it for readers that do not know the extension.
  if (props.anyOf && !props['x-kubernetes-int-or-string']) schema.anyOf = props.anyOf.map(toSchema)
  if (props.oneOf) schema.oneOf = props.oneOf.map(toSchema)
  if (props.not) schema.not = toSchema(props.not)
}

function addExtensions(schema: Mutable<Schema>, props: JSONSchemaProps): void {
  if (props['x-kubernetes-int-or-string']) schema.intOrString = true
  if (props['x-kubernetes-preserve-unknown-fields']) schema.preserveUnknownFields = true
  const listType = props['x-kubernetes-list-type'] as Schema['listType']
  if (listType) schema.listType = listType
  if (props['x-kubernetes-list-map-keys']) schema.listMapKeys = props['x-kubernetes-list-map-keys']
  const mapType = props['x-kubernetes-map-type'] as Schema['mapType']
  if (mapType) schema.mapType = mapType
  if (!props['x-kubernetes-embedded-resource']) return
  schema.embeddedResource = true
  const own = schema.properties ?? {}
  schema.properties = withoutPrototype({ ...own, ...typeMeta(own), metadata: objectMeta() })
}

function mapSchemas(properties: Readonly<Record<string, JSONSchemaProps>>): Record<string, Schema> {
  const schemas: Record<string, Schema> = Object.create(null)
  for (const [name, props] of Object.entries(properties)) schemas[name] = toSchema(props)
  return schemas
}

/** So that a field named `constructor` is not found where there is none. */
const withoutPrototype = (properties: Record<string, Schema>): Record<string, Schema> =>
  Object.assign(Object.create(null), properties)
