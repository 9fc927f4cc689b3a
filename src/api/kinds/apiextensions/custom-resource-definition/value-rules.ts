import type { JSONSchemaProps } from '../../../generated/apiextensions-v1.ts'
import { type FieldError, forbidden, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { childSchemas, isSchema, valueSchemas } from './schema-tree.ts'

/** What must not stand in a schema that only restricts values, and the word upstream has for its absence. */
const STRUCTURE = {
  type: 'empty',
  additionalProperties: 'undefined',
  default: 'undefined',
  title: 'empty',
  description: 'empty',
  nullable: 'false',
  'x-kubernetes-preserve-unknown-fields': 'false',
  'x-kubernetes-embedded-resource': 'false',
  'x-kubernetes-int-or-string': 'false',
  'x-kubernetes-list-map-keys': 'empty',
  'x-kubernetes-list-type': 'undefined',
  'x-kubernetes-map-type': 'undefined',
} as const

/** `allOf`, `anyOf`, `oneOf` and `not`, all the way down. */
export function validateValueRules(schema: JSONSchemaProps, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  for (const [nested, at] of valueSchemas(schema, path))
    if (!isIntOrStringChoice(schema, nested)) errors.push(...validateValueRule(nested, at))
  return errors
}

/** `anyOf: [{type: integer}, {type: string}]` beside x-kubernetes-int-or-string says the same for older readers. */
function isIntOrStringChoice(schema: JSONSchemaProps, nested: JSONSchemaProps): boolean {
  if (!schema['x-kubernetes-int-or-string']) return false
  const isChoice = (option: unknown) => isSchema(option) && (option.type === 'integer' || option.type === 'string')
  return isChoice(nested) || (nested.anyOf?.length === 2 && nested.anyOf.every(isChoice))
}

function validateValueRule(schema: JSONSchemaProps, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  for (const [field, absence] of Object.entries(STRUCTURE)) {
    const value = schema[field as keyof typeof STRUCTURE]
    if (value === undefined || value === false || value === '') continue
    errors.push(forbidden(path.child(field), `must be ${absence} to be structural`))
  }
  if (isSchema(schema.properties?.metadata))
    errors.push(forbidden(path.child('properties').key('metadata'), 'must not be specified in a nested context'))
  for (const [child, at] of childSchemas(schema, path)) errors.push(...validateValueRule(child, at))
  for (const [nested, at] of valueSchemas(schema, path)) errors.push(...validateValueRule(nested, at))
  return errors
}

/** Every field that a value rule speaks of must be specified by the structure itself. */
export function validateCompleteness(
  structure: JSONSchemaProps,
  rules: JSONSchemaProps,
  path: FieldPath,
  rulesPath: FieldPath,
): FieldError[] {
  const errors: FieldError[] = []
  for (const [nested, at] of valueSchemas(rules, rulesPath)) {
    errors.push(...missingFields(structure, nested, path, at))
    errors.push(...validateCompleteness(structure, nested, path, at))
  }
  return errors
}

function missingFields(
  structure: JSONSchemaProps,
  rule: JSONSchemaProps,
  path: FieldPath,
  at: FieldPath,
): FieldError[] {
  const errors: FieldError[] = []
  const need = (found: unknown, wanted: JSONSchemaProps, here: FieldPath, there: FieldPath) => {
    if (!isSchema(found)) errors.push(required(here, `because it is defined in ${there}`))
    else errors.push(...missingFields(found, wanted, here, there), ...validateCompleteness(found, wanted, here, there))
  }
  if (isSchema(rule.items)) need(structure.items, rule.items, path.child('items'), at.child('items'))
  for (const [name, property] of Object.entries(rule.properties ?? {})) {
    if (!isSchema(property)) continue
    const found =
      structure.properties && Object.hasOwn(structure.properties, name) ? structure.properties[name] : undefined
    need(found, property, path.child('properties').key(name), at.child('properties').key(name))
  }
  return errors
}
