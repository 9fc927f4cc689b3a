import type { Schema } from '../../../api/schema/schema.ts'
import { unescapeField } from '../../../cel/field-names.ts'
import { BOOL, type CelType, DOUBLE, DYN, INT, listOf, mapOf, objectOf, STRING } from '../../../cel/types.ts'

const types = new WeakMap<Schema, CelType>()

/** The type of the values that a schema describes; `dyn` wherever it leaves a choice. */
export function typeOfSchema(schema: Schema | undefined): CelType {
  if (!schema) return DYN
  const known = types.get(schema)
  if (known) return known
  // A type may contain itself.
  types.set(schema, DYN)
  const type = makeType(schema)
  types.set(schema, type)
  return type
}

function makeType(schema: Schema): CelType {
  if (schema.intOrString || schema.nullable) return DYN
  switch (schema.type) {
    case 'object':
      return objectType(schema)
    case 'array':
      return listOf(typeOfSchema(schema.items))
    case 'integer':
      return INT
    case 'number':
      return DOUBLE
    case 'boolean':
      return BOOL
    case 'string':
      return schema.format === undefined ? STRING : DYN
    default:
      return schema.properties ? objectType(schema) : DYN
  }
}

function objectType({ properties, additionalProperties, preserveUnknownFields }: Schema): CelType {
  if (additionalProperties) return mapOf(STRING, typeOfSchema(additionalProperties))
  if (!properties || preserveUnknownFields) return DYN
  return objectOf('object', (written) => {
    const name = Object.hasOwn(properties, written) ? written : unescapeField(written)
    return Object.hasOwn(properties, name) ? typeOfSchema(properties[name]) : undefined
  })
}
