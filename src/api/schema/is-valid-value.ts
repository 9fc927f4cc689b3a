import type { FieldError } from '../meta/field-error.ts'
import { FieldPath } from '../meta/field-path.ts'
import { keyText } from './list-keys.ts'
import { openValuePlan, TYPE, type ValuePlan } from './value-plan.ts'
import {
  canonical,
  checkItems,
  checkNumber,
  checkProperties,
  checkString,
  isEqual,
  type PatternMatcher,
} from './value-rules.ts'

/** For rules whose wording is thrown away. */
const ANYWHERE = FieldPath.root('')

/**
 * Whether a value keeps all rules of its schema: what `validateValues` finds out too, but without a place for every
 * value, since almost all objects are right.
 */
export function isValidValue(value: unknown, plan: ValuePlan, matches: PatternMatcher): boolean {
  const type = typeOf(value)
  if ((type & plan.types) === 0) return false
  if (type === TYPE.null) return true
  if (!plan.isOpen) openValuePlan(plan)
  if (plan.scalars !== undefined && !plan.scalars.has(value)) return false
  if (plan.hasDeepEnum && !plan.schema.enum!.some((allowed) => isEqual(allowed, value))) return false
  if (type === TYPE.string) {
    if (!isValidString(value as string, plan, matches)) return false
  } else if (type === TYPE.object) {
    if (!isValidObject(value as Record<string, unknown>, plan, matches)) return false
  } else if (type === TYPE.array) {
    if (!isValidList(value as unknown[], plan, matches)) return false
  } else if (type !== TYPE.boolean && plan.hasNumberRules) {
    if (!keeps((errors) => checkNumber(value as number, plan.schema, ANYWHERE, errors))) return false
  }
  return keepsCombinations(value, plan, matches)
}

function typeOf(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return TYPE.string
    case 'number':
      return Number.isInteger(value) ? TYPE.integer : TYPE.number
    case 'boolean':
      return TYPE.boolean
    default:
      return value === null || value === undefined ? TYPE.null : Array.isArray(value) ? TYPE.array : TYPE.object
  }
}

function keeps(check: (errors: FieldError[]) => void): boolean {
  const errors: FieldError[] = []
  check(errors)
  return errors.length === 0
}

function isValidString(value: string, plan: ValuePlan, matches: PatternMatcher): boolean {
  if (plan.hasLengths && !hasClearlyFittingLength(value, plan)) {
    return keeps((errors) => checkString(value, plan.schema, ANYWHERE, errors, matches))
  }
  if (plan.pattern !== undefined && !matches(plan.pattern, value)) return false
  return plan.format === undefined || plan.format(value)
}

/** A text has at most as many characters as UTF-16 units, and at least half as many. */
const hasClearlyFittingLength = (value: string, { schema }: ValuePlan) =>
  (schema.maxLength === undefined || value.length <= schema.maxLength) &&
  (schema.minLength === undefined || value.length >= 2 * schema.minLength)

function isValidObject(value: Record<string, unknown>, plan: ValuePlan, matches: PatternMatcher): boolean {
  for (let i = 0; i < plan.required.length; i++) if (!Object.hasOwn(value, plan.required[i]!)) return false
  const { fields, values } = plan
  let keys = 0
  for (const name in value) {
    keys++
    const rule = fields?.get(name) ?? values
    if (rule !== undefined && !isValidValue(value[name], rule, matches)) return false
  }
  return !plan.hasSizes || keeps((errors) => checkProperties(keys, plan.schema, ANYWHERE, errors))
}

function isValidList(value: readonly unknown[], plan: ValuePlan, matches: PatternMatcher): boolean {
  if (plan.hasSizes && !keeps((errors) => checkItems(value, plan.schema, ANYWHERE, errors))) return false
  const { items } = plan
  if (items !== undefined)
    for (let i = 0; i < value.length; i++) if (!isValidValue(value[i], items, matches)) return false
  return plan.unique === 'nothing' || value.length < 2 || areUnique(value, plan)
}

function areUnique(value: readonly unknown[], plan: ValuePlan): boolean {
  const seen = new Set<string>()
  for (const item of value) seen.add(plan.unique === 'item' ? canonical(item) : keyText(item, plan.schema))
  return seen.size === value.length
}

function keepsCombinations(value: unknown, plan: ValuePlan, matches: PatternMatcher): boolean {
  if (plan.allOf !== undefined && !plan.allOf.every((one) => isValidValue(value, one, matches))) return false
  if (plan.anyOf !== undefined && !plan.anyOf.some((one) => isValidValue(value, one, matches))) return false
  if (plan.oneOf !== undefined && plan.oneOf.filter((one) => isValidValue(value, one, matches)).length !== 1)
    return false
  return plan.not === undefined || !isValidValue(value, plan.not, matches)
}
