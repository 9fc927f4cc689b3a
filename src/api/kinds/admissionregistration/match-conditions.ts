import type { MatchCondition } from '../../generated/admissionregistration-v1.ts'
import { duplicate, type FieldError, invalid, required, tooMany } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { isQualifiedName } from '../../meta/names.ts'

const MAX_CONDITIONS = 64

/** CEL expressions that must all hold before a webhook or policy is asked. */
export function validateMatchConditions(
  conditions: readonly MatchCondition[] | undefined,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = []
  const names = new Set<string>()
  if (conditions && conditions.length > MAX_CONDITIONS) errors.push(tooMany(path, conditions.length, MAX_CONDITIONS))
  conditions?.forEach(({ name = '', expression = '' }, index) => {
    const at = path.index(index)
    if (expression.trim() === '') errors.push(required(at.child('expression')))
    if (name === '') errors.push(required(at.child('name')))
    else for (const message of isQualifiedName(name)) errors.push(invalid(at.child('name'), name, message))
    if (name !== '' && names.has(name)) errors.push(duplicate(at.child('name'), name))
    names.add(name)
  })
  return errors
}
