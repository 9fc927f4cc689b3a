import { type FieldError, invalid } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import {
  canonicalResourceQuantity,
  formatQuantity,
  isNegative,
  isZero,
  milliValue,
  parseQuantity,
  type Quantity,
} from '../../meta/quantity.ts'
import { isCountedWhole } from './resource-names.ts'

/** Amounts by resource name: requests, limits, capacity, quota. */
export type ResourceList = Record<string, string | number>

/** Rewrites amounts the way the API serves them: `1024Mi` becomes `1Gi`. What is no quantity is left as it is. */
export function canonicalizeResources(list: ResourceList | undefined): void {
  for (const name in list) {
    const amount = canonicalResourceQuantity(String(list[name]))
    if (amount !== undefined) list[name] = amount
  }
}

export function quantityIn(list: ResourceList | undefined, name: string): Quantity | undefined {
  if (list === undefined || !Object.hasOwn(list, name)) return undefined
  return parseQuantity(String(list[name]))
}

export const printedQuantity = (quantity: Quantity | undefined) =>
  quantity === undefined ? '0' : formatQuantity(quantity)

export function validatePositive(amount: Quantity | undefined, path: FieldPath): FieldError[] {
  return amount !== undefined && (isNegative(amount) || isZero(amount))
    ? [invalid(path, formatQuantity(amount), 'must be greater than zero')]
    : []
}

export function validateNonnegative(amount: Quantity | undefined, path: FieldPath): FieldError[] {
  return amount !== undefined && isNegative(amount)
    ? [invalid(path, formatQuantity(amount), 'must be greater than or equal to 0')]
    : []
}

/** An amount of a named resource: never negative, and whole where things are counted. */
export function validateResourceAmount(name: string, amount: Quantity | undefined, path: FieldPath): FieldError[] {
  const errors = validateNonnegative(amount, path)
  if (amount !== undefined && isCountedWhole(name) && milliValue(amount) % 1000 !== 0)
    errors.push(invalid(path, formatQuantity(amount), 'must be an integer'))
  return errors
}
