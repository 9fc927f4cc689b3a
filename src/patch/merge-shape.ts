import type { Json, JsonObject } from '../api/meta/object.ts'
import type { Schema } from '../api/schema/schema.ts'
import { isObject, ownField } from './json-value.ts'

/**
 * How values of a schema merge field by field (KEP-555): as one piece, field by field, or item by item. Derived from
 * a schema once. Where there is no schema, objects merge by field and lists are one piece.
 */
export interface MergeShape {
  readonly schema: Schema | undefined
  /** Objects are changed as a whole. */
  readonly isAtomic: boolean
  /** Known fields; undefined where the schema names none. */
  readonly fields: ReadonlyMap<string, FieldShape> | undefined
  /** Fields that are not known by name; undefined where there may be none. */
  readonly others: MergeShape | undefined
  readonly list: ListShape | undefined
  /** Fields that nobody can own. */
  readonly ignored?: ReadonlySet<string>
}

export interface FieldShape {
  /** The path element, `f:name`. */
  readonly element: string
  readonly shape: MergeShape
  /** Counts as always there: its appearance is no change, only that of what is in it. */
  readonly isInline: boolean
}

export interface ListShape {
  readonly items: MergeShape
  /** The element of an item in a path; undefined if it lacks a key or is of the wrong type. */
  readonly elementOf: (item: Json) => string | undefined
}

const shapes = new WeakMap<Schema, MergeShape>()

export function mergeShapeOf(schema: Schema | undefined): MergeShape {
  if (schema === undefined) return UNKNOWN_SHAPE
  const known = shapes.get(schema)
  if (known !== undefined) return known
  const shape = { schema } as { -readonly [K in keyof MergeShape]: MergeShape[K] }
  // Known before it is complete: a type may contain itself.
  shapes.set(schema, shape)
  const { properties, additionalProperties, definition } = schema
  const isOpaque = properties === undefined && additionalProperties === undefined
  // Raw JSON inside a built-in type is one piece; inside a custom resource it merges by field.
  shape.isAtomic =
    schema.mapType === 'atomic' || (isOpaque && (definition !== undefined || !schema.preserveUnknownFields))
  shape.fields = properties && fieldShapes(schema, properties)
  shape.others = otherFields(schema)
  shape.list = listShape(schema)
  return shape
}

/** No schema at all. */
export const UNKNOWN_SHAPE: MergeShape = {
  schema: undefined,
  isAtomic: false,
  fields: undefined,
  get others(): MergeShape {
    return UNKNOWN_SHAPE
  },
  list: undefined,
}

const TYPE_FIELDS = new Set(['apiVersion', 'kind'])
const SERVER_FIELDS = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
])
const roots = new WeakMap<Schema, MergeShape>()

/** The shape of a whole object: what identifies it and what the server writes belongs to nobody. */
export function objectShapeOf(schema: Schema): MergeShape {
  const known = roots.get(schema)
  if (known !== undefined) return known
  const shape = mergeShapeOf(schema)
  const metadata = mergeShapeOf(schema.properties?.metadata)
  const fields = new Map(shape.fields)
  fields.set('metadata', { element: 'f:metadata', isInline: true, shape: { ...metadata, ignored: SERVER_FIELDS } })
  const root: MergeShape = { ...shape, isAtomic: false, fields, ignored: TYPE_FIELDS }
  roots.set(schema, root)
  return root
}

function otherFields(schema: Schema): MergeShape | undefined {
  if (schema.additionalProperties) return mergeShapeOf(schema.additionalProperties)
  return schema.preserveUnknownFields ? UNKNOWN_SHAPE : undefined
}

function fieldShapes(schema: Schema, properties: Readonly<Record<string, Schema>>): ReadonlyMap<string, FieldShape> {
  const fields = new Map<string, FieldShape>()
  for (const name of Object.keys(properties)) {
    const shape = mergeShapeOf(properties[name])
    fields.set(name, { element: `f:${name}`, shape, isInline: isInline(schema, name) })
  }
  return fields
}

/** Struct-valued fields of the Go types that no schema marks as required. */
const INLINE_FIELDS = new Set(['metadata', 'spec', 'status', 'strategy', 'updateStrategy', 'loadBalancer', 'nodeInfo'])

/** Go objects always have such fields, even when empty, so managers of built-in kinds never own the field itself. */
export const isInline = (schema: Schema, name: string): boolean =>
  schema.definition !== undefined && (INLINE_FIELDS.has(name) || (schema.required?.includes(name) ?? false))

function listShape(schema: Schema): ListShape | undefined {
  if (schema.listType === 'set') return { items: mergeShapeOf(schema.items), elementOf: valueElement }
  if (schema.listType !== 'map' || !schema.listMapKeys) return undefined
  return { items: mergeShapeOf(schema.items), elementOf: keyElement(schema.listMapKeys, schema.items) }
}

/** JSON text of a key; nearly all are numbers or names that need no escapes. */
const jsonText = (value: Json): string =>
  typeof value === 'string' && PLAIN.test(value) ? `"${value}"` : JSON.stringify(value)
const PLAIN = /^[\w./:-]*$/

const valueElement = (item: Json): string => `v:${jsonText(item)}`

function keyElement(keys: readonly string[], items: Schema | undefined): (item: Json) => string | undefined {
  const sorted = [...keys].sort().map((name) => ({
    name,
    prefix: `${JSON.stringify(name)}:`,
    default: items?.properties?.[name]?.default as Json | undefined,
  }))
  const [only] = sorted
  if (only !== undefined && sorted.length === 1) return (item) => oneKeyElement(item, only.name, only.default)
  return (item) => {
    if (!isObject(item)) return undefined
    let text = ''
    for (const key of sorted) {
      const value = ownField(item, key.name) ?? key.default
      if (value === undefined || value === null) continue
      text += `${text && ','}${key.prefix}${jsonText(value)}`
    }
    return text === '' ? undefined : `k:{${text}}`
  }
}

function oneKeyElement(item: Json, name: string, fallback: Json | undefined): string | undefined {
  if (!isObject(item)) return undefined
  const value = ownField(item, name) ?? fallback
  return value === undefined || value === null ? undefined : `k:{"${name}":${jsonText(value)}}`
}

/** The shape of a field; undefined if there may be no such field. */
export function fieldShape(shape: MergeShape, name: string): MergeShape | undefined {
  return shape.fields?.get(name)?.shape ?? shape.others
}

export const elementOfField = (shape: MergeShape, name: string): string =>
  shape.fields?.get(name)?.element ?? `f:${name}`

/** An object that merges by field. */
export const isGranularObject = (shape: MergeShape, value: Json | undefined): value is JsonObject =>
  !shape.isAtomic && isObject(value)

/** A list that merges by item. Undefined where it is one piece, or an item cannot be told from the others. */
export function itemElements(shape: MergeShape, value: Json | undefined): string[] | undefined {
  if (shape.list === undefined || !Array.isArray(value)) return undefined
  const elements: string[] = []
  for (const item of value) {
    const element = shape.list.elementOf(item)
    if (element === undefined) return undefined
    elements.push(element)
  }
  return elements
}
