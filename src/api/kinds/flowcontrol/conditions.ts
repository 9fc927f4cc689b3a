import { duplicate, type FieldError, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'

const CONDITIONS = FieldPath.root('status').child('conditions')

export function validateConditionTypes(conditions: readonly { type?: string }[] | undefined): FieldError[] {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  conditions?.forEach(({ type = '' }, index) => {
    const path = CONDITIONS.index(index).child('type')
    if (seen.has(type)) errors.push(duplicate(path, type))
    seen.add(type)
    if (type === '') errors.push(required(path))
  })
  return errors
}
