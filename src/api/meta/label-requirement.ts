import { type FieldError, invalid } from './field-error.ts'
import { FieldPath } from './field-path.ts'
import { isLabelValue, isQualifiedName } from './names.ts'

export type LabelOperator = 'in' | 'notin' | '=' | '==' | '!=' | 'exists' | '!' | 'gt' | 'lt'

/** One condition on one label. Prints itself in selector syntax. */
export interface Requirement {
  readonly key: string
  readonly operator: LabelOperator
  /** Sorted, without duplicates. */
  readonly values: readonly string[]
  matches(labels: Readonly<Record<string, string>> | undefined): boolean
  toString(): string
}

/** Labels come from outside: `constructor` must not be found on a map that does not have it. */
const labelOf = (labels: Readonly<Record<string, string>> | undefined, key: string) =>
  labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined

export function requirement(key: string, operator: LabelOperator, values: readonly string[]): Requirement {
  const sorted = values.length < 2 ? values : [...new Set(values)].sort()
  return {
    key,
    operator,
    values: sorted,
    matches: matcher(key, operator, sorted),
    toString: () => text(key, operator, sorted),
  }
}

function matcher(key: string, operator: LabelOperator, values: readonly string[]): Requirement['matches'] {
  const only = values[0]
  switch (operator) {
    case '=':
    case '==':
      return (labels) => only !== undefined && labelOf(labels, key) === only
    case '!=':
      return (labels) => labelOf(labels, key) !== only
    case 'in': {
      const set = new Set<string | undefined>(values)
      return (labels) => set.has(labelOf(labels, key))
    }
    case 'notin': {
      const set = new Set<string | undefined>(values)
      return (labels) => !set.has(labelOf(labels, key))
    }
    case 'exists':
      return (labels) => labelOf(labels, key) !== undefined
    case '!':
      return (labels) => labelOf(labels, key) === undefined
    case 'gt':
      return numeric(key, (value) => value > BigInt(only ?? 0))
    case 'lt':
      return numeric(key, (value) => value < BigInt(only ?? 0))
  }
}

const INTEGER = /^[+-]?\d{1,20}$/
const integer = (text: string) => BigInt(text.startsWith('+') ? text.slice(1) : text)

function numeric(key: string, compare: (value: bigint) => boolean): Requirement['matches'] {
  return (labels) => {
    const value = labelOf(labels, key)
    return value !== undefined && INTEGER.test(value) && compare(integer(value))
  }
}

function text(key: string, operator: LabelOperator, values: readonly string[]): string {
  switch (operator) {
    case 'exists':
      return key
    case '!':
      return `!${key}`
    case 'gt':
      return `${key}>${values[0]}`
    case 'lt':
      return `${key}<${values[0]}`
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`
    default:
      return `${key}${operator}${values[0] ?? ''}`
  }
}

/** What is wrong with a requirement that a user wrote. */
export function validateRequirement(key: string, operator: LabelOperator, values: readonly string[]): FieldError[] {
  const path = FieldPath.root('values')
  const errors = isQualifiedName(key).map((message) => invalid(FieldPath.root('key'), key, message))
  if ((operator === 'in' || operator === 'notin') && values.length === 0)
    errors.push(invalid(path, values, "for 'in', 'notin' operators, values set can't be empty"))
  if (operator === 'gt' || operator === 'lt') {
    if (values.length !== 1)
      errors.push(invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required"))
    values.forEach((value, index) => {
      if (!INTEGER.test(value))
        errors.push(invalid(path.index(index), value, "for 'Gt', 'Lt' operators, the value must be an integer"))
    })
  }
  values.forEach((value, index) => {
    for (const message of isLabelValue(value)) errors.push(invalid(path.index(index).key(key), value, message))
  })
  return errors
}
