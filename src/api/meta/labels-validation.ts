import { type FieldError, invalid } from './field-error.ts'
import type { FieldPath } from './field-path.ts'
import { isLabelValue, isQualifiedName } from './names.ts'

export const validateLabelName = (name: string, path: FieldPath): FieldError[] =>
  isQualifiedName(name).map((message) => invalid(path, name, message))

/** Keys and values of a label map (also a node selector, a service selector). */
export function validateLabels(labels: Readonly<Record<string, string>> | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  for (const key in labels) {
    const value = labels[key]!
    for (const message of isQualifiedName(key)) errors.push(invalid(path, key, message))
    for (const message of isLabelValue(value)) errors.push(invalid(path, value, message))
  }
  return errors
}
