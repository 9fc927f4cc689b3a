import { noteError } from './error-limit.ts'
import type { FieldPath } from './field-path.ts'
import { shown } from './shown-value.ts'

/** The reasons a Status cause can have, as the API names them. */
export type FieldErrorReason =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueTypeInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldValueNotFound'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'InternalError'

/** One thing wrong with one field. `message` reads as upstream's does, without the field name. */
export interface FieldError {
  readonly reason: FieldErrorReason
  readonly field: string
  readonly message: string
}

function error(reason: FieldErrorReason, path: FieldPath, message: string): FieldError {
  const made: FieldError = { reason, field: path.toString(), message }
  noteError(made)
  return made
}
const because = (headline: string, detail: string) => (detail === '' ? headline : `${headline}: ${detail}`)

export const required = (path: FieldPath, detail = '') =>
  error('FieldValueRequired', path, because('Required value', detail))

export const invalid = (path: FieldPath, value: unknown, detail: string) =>
  error('FieldValueInvalid', path, because(`Invalid value: ${shown(value)}`, detail))

export const typeInvalid = (path: FieldPath, value: unknown, detail: string) =>
  error('FieldValueTypeInvalid', path, because(`Invalid value: ${shown(value)}`, detail))

export const notSupported = (path: FieldPath, value: unknown, supported: readonly string[]) =>
  error(
    'FieldValueNotSupported',
    path,
    because(
      `Unsupported value: ${shown(value)}`,
      supported.length === 0 ? '' : `supported values: ${supported.map(shown).join(', ')}`,
    ),
  )

export const duplicate = (path: FieldPath, value: unknown) =>
  error('FieldValueDuplicate', path, `Duplicate value: ${shown(value)}`)

export const forbidden = (path: FieldPath, detail: string) =>
  error('FieldValueForbidden', path, because('Forbidden', detail))

export const notFound = (path: FieldPath, value: unknown) =>
  error('FieldValueNotFound', path, `Not found: ${shown(value)}`)

export const tooLong = (path: FieldPath, maximum: number) =>
  error('FieldValueTooLong', path, `Too long: may not be more than ${maximum} bytes`)

export const tooMany = (path: FieldPath, actual: number, maximum: number) =>
  error('FieldValueTooMany', path, `Too many: ${actual}: must have at most ${maximum} items`)

export const internal = (path: FieldPath, detail: string) =>
  error('InternalError', path, because('Internal error', detail))
