import { type FieldError, invalid } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { type IntOrString, parsePercent } from '../../meta/int-or-string.ts'
import { isPercent } from '../../meta/names.ts'
import { NOT_NEGATIVE, refuse } from '../core/pod/pod-check.ts'

/** A count of pods, or a share of them, of those that a rolling update may be short of or beyond. */
export function checkIntOrPercent(value: IntOrString | undefined, path: FieldPath, errors: FieldError[]): void {
  if (value === undefined) return
  if (typeof value === 'string') refuse(errors, path, value, isPercent(value))
  else if (value < 0) errors.push(invalid(path, value, NOT_NEGATIVE))
}

export function checkAtMost100Percent(value: IntOrString | undefined, path: FieldPath, errors: FieldError[]): void {
  const percent = value === undefined ? undefined : parsePercent(value)
  if (percent !== undefined && percent > 100) errors.push(invalid(path, value, 'must not be greater than 100%'))
}

/** The number in front, whether a count or a percentage. */
export const amountOf = (value: IntOrString | undefined): number =>
  typeof value === 'number' ? value : value === undefined ? 0 : (parsePercent(value) ?? 0)
