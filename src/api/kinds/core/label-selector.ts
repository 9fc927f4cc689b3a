import type { LabelSelector } from '../../generated/meta-v1.ts'
import type { FieldError } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { validateLabelSelector } from '../../meta/label-selector.ts'

/** Selectors as clients send them: an expression may lack its key or operator, which is reported like an empty one. */
export function validateSelector(selector: LabelSelector | undefined, path: FieldPath): FieldError[] {
  if (!selector) return []
  const { matchLabels, matchExpressions } = selector
  if (!matchExpressions?.some(({ key, operator }) => key === undefined || operator === undefined))
    return validateLabelSelector(selector, path)
  const whole = matchExpressions.map((expression) => ({ ...expression, key: expression.key ?? '' }))
  return validateLabelSelector({ ...(matchLabels && { matchLabels }), matchExpressions: whole }, path)
}
