import { describe, expect, it } from 'vitest'
import type { Kind } from '../../kind.ts'
import type { FieldError } from '../../meta/field-error.ts'
import type { KubernetesObject } from '../../meta/object.ts'

/** One row: what is tried, the change to a valid object, and the errors as `field: message` (none: accepted). */
export type RuleRow<T> = readonly [what: string, change: (draft: T) => void, ...errors: string[]]

export const shownErrors = (errors: readonly FieldError[]) => errors.map((error) => `${error.field}: ${error.message}`)

const unchanged = <T>(what: string): RuleRow<T> => [what, () => {}]

/** Each row on a fresh copy of the valid object, through defaults and validation as on creation. */
export function describeRules<T extends KubernetesObject>(kind: Kind<T>, valid: T, rows: readonly RuleRow<T>[]): void {
  describe(`${kind.kind} rules`, () => {
    for (const [what, change, ...errors] of [unchanged<T>('the valid object'), ...rows])
      it(what, () => {
        const draft = structuredClone(valid)
        change(draft)
        kind.defaults?.(draft)
        expect(shownErrors(kind.validate?.(draft) ?? [])).toEqual(errors)
      })
  })
}

/** The same for updates: each row changes a copy of the object as it is stored. */
export function describeUpdateRules<T extends KubernetesObject>(
  kind: Kind<T>,
  stored: T,
  rows: readonly RuleRow<T>[],
): void {
  describe(`${kind.kind} update rules`, () => {
    for (const [what, change, ...errors] of [unchanged<T>('no change'), ...rows])
      it(what, () => {
        const old = structuredClone(stored)
        kind.defaults?.(old)
        const draft = structuredClone(old)
        change(draft)
        kind.defaults?.(draft)
        kind.prepareUpdate?.(draft, old)
        expect(shownErrors(kind.validateUpdate?.(draft, old) ?? [])).toEqual(errors)
      })
  })
}

/** The cells of an object by column name. */
export function cells<T extends KubernetesObject>(kind: Kind<T>, object: T, now: number): Record<string, unknown> {
  return Object.fromEntries(kind.columns.map((column) => [column.name, column.value(object, now)]))
}
