import type { FieldError } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import {
  compileLabelSelector,
  type LabelSelector,
  type Selector,
  validateLabelSelector,
} from '../../../meta/label-selector.ts'

export function validateSelector(selector: LabelSelector | undefined, path: FieldPath, errors: FieldError[]): void {
  if (selector) for (const error of validateLabelSelector(selector, path)) errors.push(error)
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist']

/** The compiled selector; undefined when it has an operator that does not exist. */
export function compiledSelector(selector: LabelSelector | undefined): Selector | undefined {
  const known = selector?.matchExpressions?.every((each) => OPERATORS.includes(each.operator ?? '')) ?? true
  return known ? compileLabelSelector(selector) : undefined
}

export const isEmptySelector = (selector: LabelSelector | undefined) =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions?.length ?? 0) === 0
