import type { FieldError } from './field-error.ts'

/** More than this nobody reads, and writing them would keep the server from other work. */
export const MAX_ERRORS = 1000
const MAX_CHARACTERS = 256 * 1024

class TooManyErrors extends Error {}

let noted: FieldError[] | undefined
let characters = 0

/** Runs a validation and returns its errors. One that finds more than the limit ends there, with those found so far. */
export function limitErrors(validate: () => FieldError[]): readonly FieldError[] {
  noted = []
  characters = 0
  try {
    return validate()
  } catch (error) {
    if (!(error instanceof TooManyErrors)) throw error
    const message = `Too many errors: only the first ${noted.length} are shown`
    return [...noted, { reason: 'FieldValueInvalid', field: '<nil>', message }]
  } finally {
    noted = undefined
  }
}

/** Counts an error towards the limit of the validation that runs, if one does. */
export function noteError(error: FieldError): void {
  if (noted === undefined) return
  noted.push(error)
  characters += error.field.length + error.message.length
  if (noted.length > MAX_ERRORS || characters > MAX_CHARACTERS) throw new TooManyErrors()
}
