import { type FieldError, invalid, tooLong } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'

const MAX_COUNT = 512
const MAX_BYTES = 256 * 1024

/** What a storage class or attributes class tells its driver. */
export function validateParameters(parameters: Record<string, string> | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  let size = 0
  let count = 0
  for (const key in parameters) {
    if (key === '') errors.push(invalid(path, key, 'field can not be empty.'))
    size += Buffer.byteLength(key) + Buffer.byteLength(parameters[key]!)
    count++
  }
  if (count > MAX_COUNT) errors.push(tooLong(path, MAX_COUNT))
  else if (size > MAX_BYTES) errors.push(tooLong(path, MAX_BYTES))
  return errors
}
