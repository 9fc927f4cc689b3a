import type { JSONSchemaProps, ValidationRule } from '../../../generated/apiextensions-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { childSchemas, isSchema } from './schema-tree.ts'
import { validateCompleteness, validateValueRules } from './value-rules.ts'

/**
 * A schema must be structural: every field has one type, said in one place, so that objects can be pruned and
 * defaulted without guessing. What stands in `allOf`, `anyOf`, `oneOf` and `not` may only restrict values.
 */
export function validateOpenApiSchema(schema: JSONSchemaProps, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (schema.nullable) errors.push(forbidden(path.child('nullable'), 'nullable cannot be true at the root'))
  if (schema.additionalProperties !== undefined)
    errors.push(forbidden(path.child('additionalProperties'), 'must not be used at the root'))
  if (!schema.type) errors.push(required(path.child('type'), 'must not be empty at the root'))
  else if (schema.type !== 'object') errors.push(invalid(path.child('type'), schema.type, 'must be object at the root'))
  errors.push(...validateMetadata(schema, path), ...validateNode(schema, path))
  return errors
}

function validateNode(schema: JSONSchemaProps, path: FieldPath): FieldError[] {
  const errors = [
    ...validateSupported(schema, path),
    ...validateExtensions(schema, path),
    ...validateLists(schema, path),
  ]
  if (schema.type === 'array' && schema.items === undefined)
    errors.push(required(path.child('items'), 'must be specified'))
  for (const [child, at, what] of childSchemas(schema, path)) {
    if (!child.type && !child['x-kubernetes-int-or-string'] && !child['x-kubernetes-preserve-unknown-fields'])
      errors.push(required(at.child('type'), `must not be empty for specified ${what}`))
    errors.push(...validateNode(child, at))
  }
  errors.push(...validateValueRules(schema, path), ...validateCompleteness(schema, schema, path, path))
  schema['x-kubernetes-validations']?.forEach((rule, index) => {
    errors.push(...validateCelRule(rule, path.child('x-kubernetes-validations').index(index)))
  })
  return errors
}

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const UNSUPPORTED = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const

function validateSupported(schema: JSONSchemaProps, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (schema.type === 'null')
    errors.push(forbidden(path.child('type'), 'type cannot be set to null, use nullable as an alternative'))
  else if (schema.type && !TYPES.includes(schema.type))
    errors.push(notSupported(path.child('type'), schema.type, TYPES))
  for (const field of UNSUPPORTED)
    if (schema[field] !== undefined) errors.push(forbidden(path.child(field), `${field} is not supported`))
  if (Array.isArray(schema.items))
    errors.push(forbidden(path.child('items'), 'items must be a schema object and not an array'))
  if (schema.uniqueItems)
    errors.push(
      forbidden(
        path.child('uniqueItems'),
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    )
  if (schema.properties && schema.additionalProperties !== undefined && schema.additionalProperties !== true)
    errors.push(
      forbidden(path.child('additionalProperties'), 'additionalProperties and properties are mutual exclusive'),
    )
  return errors
}

function validateExtensions(schema: JSONSchemaProps, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const preserve = schema['x-kubernetes-preserve-unknown-fields']
  const embedded = schema['x-kubernetes-embedded-resource']
  if (preserve === false)
    errors.push(invalid(path.child('x-kubernetes-preserve-unknown-fields'), preserve, 'must be true or undefined'))
  if (schema['x-kubernetes-int-or-string']) {
    const message = 'must be false if x-kubernetes-int-or-string is true'
    if (preserve) errors.push(invalid(path.child('x-kubernetes-preserve-unknown-fields'), true, message))
    if (embedded) errors.push(invalid(path.child('x-kubernetes-embedded-resource'), true, message))
  }
  if (!embedded) return errors
  const message = 'must be object if x-kubernetes-embedded-resource is true'
  if (!schema.type) errors.push(required(path.child('type'), message))
  else if (schema.type !== 'object') errors.push(invalid(path.child('type'), schema.type, message))
  if (!preserve && Object.keys(schema.properties ?? {}).length === 0)
    errors.push(
      required(
        path.child('properties'),
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ),
    )
  return [...errors, ...validateMetadata(schema, path)]
}

/** `apiVersion`, `kind` and `metadata` of an object are the server's business; a schema may hardly touch them. */
function validateMetadata(schema: JSONSchemaProps, path: FieldPath): FieldError[] {
  const { metadata, apiVersion, kind } = schema.properties ?? {}
  const errors: FieldError[] = []
  for (const [name, field] of Object.entries({ apiVersion, kind }))
    if (isSchema(field) && field.type && field.type !== 'string')
      errors.push(invalid(path.child('properties').key(name).child('type'), field.type, 'must be string'))
  if (!isSchema(metadata)) return errors
  const at = path.child('properties').key('metadata')
  if (metadata.type && metadata.type !== 'object')
    errors.push(invalid(at.child('type'), metadata.type, 'must be object'))
  const specified = Object.keys(metadata.properties ?? {})
  const other = ['type', 'description', 'properties']
  if (
    specified.some((name) => name !== 'name' && name !== 'generateName') ||
    Object.keys(metadata).some((field) => !other.includes(field))
  )
    errors.push(
      forbidden(at, 'must not specify anything other than name and generateName, but metadata is implicitly specified'),
    )
  return errors
}

function validateLists(schema: JSONSchemaProps, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const listType = schema['x-kubernetes-list-type']
  const mapType = schema['x-kubernetes-map-type']
  errors.push(...needsType(schema, mapType, 'object', 'x-kubernetes-map-type', path.child('type')))
  if (mapType !== undefined && mapType !== 'atomic' && mapType !== 'granular')
    errors.push(notSupported(path.child('x-kubernetes-map-type'), mapType, ['atomic', 'granular']))
  errors.push(...needsType(schema, listType, 'array', 'x-kubernetes-list-type', path.child('type')))
  if (listType !== undefined && !['atomic', 'set', 'map'].includes(listType))
    errors.push(notSupported(path.child('x-kubernetes-list-type'), listType, ['atomic', 'set', 'map']))
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const mustBeMap = 'must be map if x-kubernetes-list-map-keys is non-empty'
  if (keys.length > 0 && listType === undefined) errors.push(required(path.child('x-kubernetes-list-type'), mustBeMap))
  else if (keys.length > 0 && listType !== 'map')
    errors.push(invalid(path.child('x-kubernetes-list-type'), listType, mustBeMap))
  if (listType === 'map') errors.push(...validateMapKeys(schema, keys, path))
  return errors
}

function needsType(schema: JSONSchemaProps, extension: unknown, type: string, name: string, path: FieldPath) {
  if (extension === undefined || schema.type === type) return []
  const message = `must be ${type} if ${name} is specified`
  return schema.type ? [invalid(path, schema.type, message)] : [required(path, message)]
}

function validateMapKeys(schema: JSONSchemaProps, keys: readonly string[], path: FieldPath): FieldError[] {
  const at = path.child('x-kubernetes-list-map-keys')
  const items = schema.items
  if (keys.length === 0) return [required(at, 'must not be empty if x-kubernetes-list-type is map')]
  if (!isSchema(items)) return [required(path.child('items'), 'must have a schema if x-kubernetes-list-type is map')]
  if (items.type !== 'object') {
    const message = "must be object if parent array's x-kubernetes-list-type is map"
    return [invalid(path.child('items', 'type'), items.type ?? '', message)]
  }
  const errors: FieldError[] = []
  if (new Set(keys).size < keys.length) errors.push(invalid(at, keys, 'must not contain duplicate entries'))
  const needed = new Set(items.required)
  for (const key of keys) {
    const property = items.properties && Object.hasOwn(items.properties, key) ? items.properties[key] : undefined
    if (!isSchema(property)) errors.push(invalid(at, keys, 'entries must all be names of item properties'))
    else errors.push(...validateMapKey(property, needed.has(key), path.child('items', 'properties').key(key)))
  }
  return errors
}

function validateMapKey(property: JSONSchemaProps, isRequired: boolean, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const member = 'this property is in x-kubernetes-list-map-keys, so it'
  if (property.type === 'array' || property.type === 'object')
    errors.push(
      invalid(
        path.child('type'),
        property.type,
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      ),
    )
  if (!isRequired && property.default === undefined)
    errors.push(required(path.child('default'), `${member} must have a default or be a required property`))
  if (property.nullable) errors.push(forbidden(path.child('nullable'), `${member} cannot be nullable`))
  return errors
}

function validateCelRule(
  { rule = '', message = '', messageExpression = '' }: ValidationRule,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = []
  const text = message.trim()
  if (rule.trim() === '') errors.push(required(path.child('rule'), 'rule is not specified'))
  else if (message !== '' && text === '')
    errors.push(invalid(path.child('message'), message, 'must be non-empty if specified'))
  else if (text.includes('\n')) errors.push(invalid(path.child('message'), message, 'must not contain line breaks'))
  else if (rule.trim().includes('\n') && text === '')
    errors.push(required(path.child('message'), 'message must be specified if rule contains line breaks'))
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.push(required(path.child('messageExpression'), 'messageExpression must be non-empty if specified'))
  return errors
}
