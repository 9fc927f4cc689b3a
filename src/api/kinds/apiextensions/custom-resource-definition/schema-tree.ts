import type { JSONSchemaProps } from '../../../generated/apiextensions-v1.ts'
import type { FieldPath } from '../../../meta/field-path.ts'

/** Schemas may nest anything where one of several types is allowed, so what is found there is looked at first. */
export function isSchema(value: unknown): value is JSONSchemaProps {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The schemas of fields, items and map values, each with its path and what it describes. */
export function* childSchemas(
  schema: JSONSchemaProps,
  path: FieldPath,
): Generator<[schema: JSONSchemaProps, path: FieldPath, what: string]> {
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    if (isSchema(property)) yield [property, path.child('properties').key(name), 'object fields']
  if (isSchema(schema.additionalProperties))
    yield [schema.additionalProperties, path.child('additionalProperties'), 'object fields']
  if (isSchema(schema.items)) yield [schema.items, path.child('items'), 'array items']
}

/** The schemas that only restrict values. */
export function* valueSchemas(
  schema: JSONSchemaProps,
  path: FieldPath,
): Generator<[schema: JSONSchemaProps, path: FieldPath]> {
  for (const junctor of ['allOf', 'anyOf', 'oneOf'] as const)
    for (const [index, nested] of (schema[junctor] ?? []).entries())
      if (isSchema(nested)) yield [nested, path.child(junctor).index(index)]
  if (isSchema(schema.not)) yield [schema.not, path.child('not')]
}
