import { SCHEMA_TEXTS } from '../generated/schemas.ts'
import type { Schema } from './schema.ts'

/** A schema as generated: like `Schema`, but other definitions are named instead of linked. */
interface SchemaText extends Omit<Schema, 'properties' | 'items' | 'additionalProperties' | 'anyOf'> {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, SchemaText>>
  readonly items?: SchemaText
  readonly additionalProperties?: SchemaText
  readonly anyOf?: readonly SchemaText[]
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const linked = new Map<string, Schema>()

/**
 * The schema of a built-in type, such as `io.k8s.api.core.v1.Pod`. Parsed and linked on first use, with all it refers
 * to; every caller gets the same object.
 */
export function builtinSchema(definition: string): Schema {
  const known = linked.get(definition)
  if (known !== undefined) return known
  const text = SCHEMA_TEXTS[definition]
  if (text === undefined) throw new Error(`there is no built-in type ${definition}`)
  const schema: Mutable<Schema> = { definition }
  // Known before it is complete: a type may refer to itself (JSONSchemaProps).
  linked.set(definition, schema)
  return Object.assign(schema, link(JSON.parse(text) as SchemaText))
}

/** Names of all built-in types. */
export const builtinDefinitions = (): string[] => Object.keys(SCHEMA_TEXTS)

function link(text: SchemaText): Schema {
  const { $ref, properties, items, additionalProperties, anyOf, ...rest } = text
  if ($ref !== undefined) {
    const target = builtinSchema($ref)
    return hasKeys(rest) ? { ...target, ...rest } : target
  }
  const schema: Mutable<Schema> = rest
  if (properties !== undefined) schema.properties = linkProperties(properties)
  if (items !== undefined) schema.items = link(items)
  if (additionalProperties !== undefined) schema.additionalProperties = link(additionalProperties)
  if (anyOf !== undefined) schema.anyOf = anyOf.map(link)
  return schema
}

/** Without a prototype, so that a field named `constructor` is not found in it. */
function linkProperties(texts: Readonly<Record<string, SchemaText>>): Record<string, Schema> {
  const properties: Record<string, Schema> = Object.create(null)
  for (const name in texts) properties[name] = link(texts[name]!)
  return properties
}

function hasKeys(object: object): boolean {
  for (const _ in object) return true
  return false
}
