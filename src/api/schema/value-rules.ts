import { type FieldError, invalid, notSupported, tooLong, tooMany, typeInvalid } from '../meta/field-error.ts'
import type { FieldPath } from '../meta/field-path.ts'
import type { Schema } from './schema.ts'
import { STRING_FORMATS } from './value-formats.ts'

/**
 * Tells whether a text matches a pattern of a schema. Patterns come from users and are meant for a linear-time
 * engine, so the caller brings one.
 */
export type PatternMatcher = (pattern: string, text: string) => boolean

export const jsonType = (value: unknown): string => {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** What is wrong with the value's type, if anything: then no other rule is looked at. */
export function checkType(value: unknown, schema: Schema, path: FieldPath): FieldError | undefined {
  const type = jsonType(value)
  if (type === 'null') return schema.nullable || schema.type === undefined ? undefined : wrongType(path, type, schema)
  if (schema.intOrString) return type === 'integer' || type === 'string' ? undefined : wrongType(path, type, schema)
  if (schema.type === undefined || schema.type === type) return undefined
  return schema.type === 'number' && type === 'integer' ? undefined : wrongType(path, type, schema)
}

const wrongType = (path: FieldPath, type: string, schema: Schema) =>
  typeInvalid(
    path,
    type,
    `${path} in body must be of type ${schema.intOrString ? 'integer,string' : schema.type}: "${type}"`,
  )

export function checkEnum(value: unknown, schema: Schema, path: FieldPath, errors: FieldError[]): void {
  if (schema.enum === undefined || schema.enum.some((allowed) => isEqual(allowed, value))) return
  const supported = schema.enum.map((allowed) => (typeof allowed === 'string' ? allowed : JSON.stringify(allowed)))
  errors.push(notSupported(path, value, supported))
}

export function checkNumber(value: number, schema: Schema, path: FieldPath, errors: FieldError[]): void {
  const { minimum, maximum, multipleOf } = schema
  const fail = (rule: string) => errors.push(invalid(path, value, `${path} in body should be ${rule}`))
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum && value <= minimum) fail(`greater than ${minimum}`)
    else if (value < minimum) fail(`greater than or equal to ${minimum}`)
  }
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum && value >= maximum) fail(`less than ${maximum}`)
    else if (value > maximum) fail(`less than or equal to ${maximum}`)
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) fail(`a multiple of ${multipleOf}`)
}

export function checkString(
  value: string,
  schema: Schema,
  path: FieldPath,
  errors: FieldError[],
  matches: PatternMatcher,
): void {
  const { minLength, maxLength, pattern, format } = schema
  if (minLength !== undefined && lengthOf(value) < minLength) {
    errors.push(invalid(path, value, `${path} in body should be at least ${minLength} chars long`))
  }
  if (maxLength !== undefined && lengthOf(value) > maxLength) errors.push(tooLong(path, maxLength))
  if (pattern !== undefined && !matches(pattern, value)) {
    errors.push(invalid(path, value, `${path} in body should match '${pattern}'`))
  }
  if (format !== undefined && Object.hasOwn(STRING_FORMATS, format) && !STRING_FORMATS[format]!(value)) {
    errors.push(typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`))
  }
}

/** Characters, not UTF-16 units. */
const lengthOf = (text: string) => {
  let length = 0
  for (const _ of text) length++
  return length
}

export function checkItems(value: readonly unknown[], schema: Schema, path: FieldPath, errors: FieldError[]): void {
  const { minItems, maxItems } = schema
  if (minItems !== undefined && value.length < minItems) {
    errors.push(invalid(path, value.length, `${path} in body should have at least ${minItems} items`))
  }
  if (maxItems !== undefined && value.length > maxItems) errors.push(tooMany(path, value.length, maxItems))
  if (schema.uniqueItems && new Set(value.map(canonical)).size < value.length) {
    errors.push(invalid(path, value, `${path} in body shouldn't contain duplicates`))
  }
}

export function checkProperties(keys: number, schema: Schema, path: FieldPath, errors: FieldError[]): void {
  const { minProperties, maxProperties } = schema
  if (minProperties !== undefined && keys < minProperties) {
    errors.push(invalid(path, keys, `${path} in body should have at least ${minProperties} properties`))
  }
  if (maxProperties !== undefined && keys > maxProperties) errors.push(tooMany(path, keys, maxProperties))
}

export const isEqual = (a: unknown, b: unknown): boolean => a === b || canonical(a) === canonical(b)

/** JSON with sorted keys: equal values have equal texts. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(',')}}`
}
