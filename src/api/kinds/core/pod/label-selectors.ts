import type { FieldError } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import {
  compileLabelSelector,
  type LabelSelector,
  type Selector,
  validateLabelSelector,
} from '../../../meta/label-selector.ts'

/** A selector as it was sent: nothing of an expression may be taken for granted. */
export interface SentSelector {
  matchLabels?: Record<string, string>
  matchExpressions?: { key?: string; operator?: string; values?: string[] }[]
}

/** A missing key or operator reads as an empty one, which the rules then refuse. */
const completed = (selector: SentSelector): LabelSelector => {
  if (!selector.matchExpressions?.some((each) => each.key === undefined || each.operator === undefined))
    return selector as LabelSelector
  const matchExpressions = selector.matchExpressions.map((each) => ({ key: '', operator: '', ...each }))
  return { ...selector, matchExpressions } as LabelSelector
}

export function validateSelector(selector: SentSelector | undefined, path: FieldPath, errors: FieldError[]): void {
  if (selector) for (const error of validateLabelSelector(completed(selector), path)) errors.push(error)
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist']

/** The compiled selector; undefined when it has an operator that does not exist. */
export function compiledSelector(selector: SentSelector | undefined): Selector | undefined {
  const known = selector?.matchExpressions?.every((each) => OPERATORS.includes(each.operator ?? '')) ?? true
  return known ? compileLabelSelector(selector && completed(selector)) : undefined
}

export const isEmptySelector = (selector: SentSelector | undefined) =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions?.length ?? 0) === 0
