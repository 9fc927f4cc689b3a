import { type FieldError, invalid } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'

/** Stays below where it starts: relative, with no step up. */
export function checkRelativePath(target: string, path: FieldPath, errors: FieldError[]): void {
  if (target.startsWith('/')) errors.push(invalid(path, target, 'must be a relative path'))
  checkNoBacksteps(target, path, errors)
}

export function checkNoBacksteps(target: string, path: FieldPath, errors: FieldError[]): void {
  if (target.includes('..') && target.split('/').includes('..'))
    errors.push(invalid(path, target, "must not contain '..'"))
}

/** Names that start with two dots belong to the volume's own bookkeeping. */
export function checkFilePath(target: string, path: FieldPath, errors: FieldError[]): void {
  checkRelativePath(target, path, errors)
  if (target.startsWith('..') && !target.startsWith('../'))
    errors.push(invalid(path, target, "must not start with '..'"))
}
