import { deepEqual } from '../../../base/deep-equal.ts'
import { type FieldError, invalid } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'

/** Refuses any change of a field. */
export function immutable(path: FieldPath, value: unknown, old: unknown): FieldError[] {
  return deepEqual(value, old) ? [] : [invalid(path, value, 'field is immutable')]
}
