import type { PodSpec, Volume } from '../../../generated/core-v1.ts'
import { type FieldError, invalid, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'

/** One run of validation over a pod spec: what is checked, what was found, and what every part of it may look up. */
export interface PodCheck {
  readonly spec: PodSpec
  readonly errors: FieldError[]
  /** A pod itself, not a template: some fields are still open in a template. */
  readonly isPod: boolean
  readonly volumes: ReadonlyMap<string, Volume>
  readonly resourceClaims: ReadonlySet<string>
}

/** Adds each message of a name check (`isDns1123Label(...)`) as an error of the field. */
export function refuse(errors: FieldError[], path: FieldPath, value: unknown, messages: readonly string[]): void {
  for (const message of messages) errors.push(invalid(path, value, message))
}

/** The same for a field of `parent`; its path is made only when there is something to say. */
export function refuseField(
  errors: FieldError[],
  parent: FieldPath,
  field: string,
  value: unknown,
  messages: readonly string[],
): void {
  if (messages.length > 0) refuse(errors, parent.child(field), value, messages)
}

/** A field of `parent` that must be one of a few words. */
export function checkChoice(
  errors: FieldError[],
  parent: FieldPath,
  field: string,
  word: string | undefined,
  choices: readonly string[],
  whenBlank = '',
): void {
  if (!word) errors.push(required(parent.child(field), whenBlank))
  else if (!choices.includes(word)) errors.push(notSupported(parent.child(field), word, choices))
}

export const NOT_NEGATIVE = 'must be greater than or equal to 0'

export function checkNotNegative(errors: FieldError[], parent: FieldPath, field: string, value: number | undefined) {
  if (value !== undefined && value < 0) errors.push(invalid(parent.child(field), value, NOT_NEGATIVE))
}
