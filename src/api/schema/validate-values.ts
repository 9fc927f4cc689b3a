import { duplicate, type FieldError, invalid, required } from '../meta/field-error.ts'
import { FieldPath } from '../meta/field-path.ts'
import { isValidValue } from './is-valid-value.ts'
import { keysOf } from './list-keys.ts'
import type { Schema } from './schema.ts'
import { valuePlanOf } from './value-plan.ts'
import {
  canonical,
  checkEnum,
  checkItems,
  checkNumber,
  checkProperties,
  checkString,
  checkType,
  type PatternMatcher,
} from './value-rules.ts'

/**
 * The rules that a custom resource's schema sets for values, worded as upstream words them. Built-in kinds bring their
 * own validation instead: upstream does not check even `required` from their schemas.
 */
export function validateValues(value: unknown, schema: Schema, matches: PatternMatcher): FieldError[] {
  return isValidValue(value, valuePlanOf(schema), matches) ? [] : explainValues(value, schema, matches)
}

/** What is wrong with a value, and where. */
export const explainValues = (value: unknown, schema: Schema, matches: PatternMatcher): FieldError[] =>
  new ValueCheck(matches).run(value, schema)

type Path = FieldPath | undefined

/** Upstream has no path for the object as a whole, and for rules that combine schemas. */
const NO_PATH = FieldPath.root('<nil>')
const below = (path: Path, name: string) => path?.child(name) ?? FieldPath.root(name)

class ValueCheck {
  readonly #matches: PatternMatcher

  constructor(matches: PatternMatcher) {
    this.#matches = matches
  }

  run(value: unknown, schema: Schema, path?: Path): FieldError[] {
    const errors: FieldError[] = []
    this.#value(value, schema, path, errors)
    return errors
  }

  #value(value: unknown, schema: Schema, path: Path, errors: FieldError[]): void {
    const at = path ?? NO_PATH
    const typeError = checkType(value, schema, at)
    if (typeError !== undefined) {
      errors.push(typeError)
      return
    }
    if (value === null || value === undefined) return
    checkEnum(value, schema, at, errors)
    if (typeof value === 'number') checkNumber(value, schema, at, errors)
    else if (typeof value === 'string') checkString(value, schema, at, errors, this.#matches)
    else if (Array.isArray(value)) this.#list(value, schema, path, errors)
    else if (typeof value === 'object') this.#object(value as Record<string, unknown>, schema, path, errors)
    this.#combined(value, schema, path, errors)
  }

  #object(value: Record<string, unknown>, schema: Schema, path: Path, errors: FieldError[]): void {
    checkProperties(Object.keys(value).length, schema, path ?? NO_PATH, errors)
    for (const name of schema.required ?? []) {
      if (!Object.hasOwn(value, name)) errors.push(required(below(path, name)))
    }
    for (const [name, field] of Object.entries(value)) {
      const known = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
      const rule = known ?? schema.additionalProperties
      if (rule !== undefined) this.#value(field, rule, below(path, name), errors)
    }
  }

  #list(value: readonly unknown[], schema: Schema, path: Path, errors: FieldError[]): void {
    const at = path ?? NO_PATH
    checkItems(value, schema, at, errors)
    if (schema.items !== undefined) {
      for (const [i, item] of value.entries()) this.#value(item, schema.items, at.index(i), errors)
    }
    if (schema.listType === 'set') checkUnique(value, (item) => item, at, errors)
    if (schema.listType === 'map') checkUnique(value, (item) => keysOf(item, schema), at, errors)
  }

  #combined(value: unknown, schema: Schema, path: Path, errors: FieldError[]): void {
    const fails = (one: Schema) => !isValidValue(value, valuePlanOf(one), this.#matches)
    const fail = (rule: string) => errors.push(invalid(NO_PATH, '', `${JSON.stringify(`${path ?? ''}`)} must ${rule}`))
    if (schema.allOf?.some(fails)) {
      for (const one of schema.allOf) errors.push(...this.run(value, one, path))
      fail('validate all the schemas (allOf)')
    }
    if (schema.anyOf?.every(fails)) {
      errors.push(...this.run(value, schema.anyOf[0]!, path))
      fail('validate at least one schema (anyOf)')
    }
    if (schema.oneOf !== undefined) {
      const valid = schema.oneOf.filter((one) => !fails(one)).length
      if (valid === 0) fail('validate one and only one schema (oneOf). Found none valid')
      if (valid > 1) fail(`validate one and only one schema (oneOf). Found ${valid} valid alternatives`)
    }
    if (schema.not !== undefined && !fails(schema.not)) fail('not validate the schema (not)')
  }
}

function checkUnique(
  value: readonly unknown[],
  identity: (item: unknown) => unknown,
  path: FieldPath,
  errors: FieldError[],
): void {
  const seen = new Set<string>()
  for (const [i, item] of value.entries()) {
    const key = identity(item)
    const text = canonical(key)
    if (seen.has(text)) errors.push(duplicate(path.index(i), key))
    seen.add(text)
  }
}
