import { type FieldError, forbidden, invalid, required } from './field-error.ts'
import type { FieldPath } from './field-path.ts'
import { type Requirement, requirement } from './label-requirement.ts'
import { validateLabelName, validateLabels } from './labels-validation.ts'
import { isLabelValue } from './names.ts'

/** The selector inside objects (`spec.selector` of a Deployment). */
export interface LabelSelector {
  matchLabels?: Record<string, string>
  matchExpressions?: LabelSelectorRequirement[]
}

/** As it was sent: nothing may be taken for granted before validation. */
export interface LabelSelectorRequirement {
  key?: string
  operator?: string
  values?: string[]
}

export type Labels = Readonly<Record<string, string>> | undefined

/** A compiled selector: all requirements must hold. None selects everything; `'nothing'` selects nothing. */
export interface Selector {
  readonly requirements: readonly Requirement[] | 'nothing'
}

export const EVERYTHING: Selector = { requirements: [] }
export const NOTHING: Selector = { requirements: 'nothing' }

export const selectsEverything = (selector: Selector) => selector.requirements.length === 0
export const selectsNothing = (selector: Selector) => selector.requirements === 'nothing'

export function matchesLabels(selector: Selector, labels: Labels): boolean {
  const { requirements } = selector
  if (requirements === 'nothing') return false
  for (const one of requirements) if (!one.matches(labels)) return false
  return true
}

/** The text form, which parses back to the same selector. */
export const formatSelector = (selector: Selector): string =>
  selector.requirements === 'nothing' ? '' : selector.requirements.map(String).join(',')

export const selectorOf = (requirements: Requirement[]): Selector => ({
  requirements: requirements.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)),
})

/** A map of labels that must all be there (`spec.selector` of a Service). */
export const selectorFromSet = (set: Labels): Selector =>
  selectorOf(Object.entries(set ?? {}).map(([key, value]) => requirement(key, '=', [value])))

const OPERATORS: ReadonlyMap<string | undefined, Requirement['operator']> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
])

/** No selector at all selects nothing, an empty one everything. Throws on an unknown operator. */
export function compileLabelSelector(selector: LabelSelector | undefined): Selector {
  if (!selector) return NOTHING
  const requirements = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => requirement(key, '=', [value]))
  for (const expression of selector.matchExpressions ?? []) {
    const operator = OPERATORS.get(expression.operator)
    if (!operator) throw new Error(`${JSON.stringify(expression.operator)} is not a valid label selector operator`)
    requirements.push(requirement(expression.key ?? '', operator, expression.values ?? []))
  }
  return selectorOf(requirements)
}

export function validateLabelSelector(selector: LabelSelector | undefined, path: FieldPath): FieldError[] {
  if (!selector) return []
  const errors = validateLabels(selector.matchLabels, path.child('matchLabels'))
  selector.matchExpressions?.forEach((expression, index) => {
    errors.push(...validateExpression(expression, path.child('matchExpressions').index(index)))
  })
  return errors
}

function validateExpression(expression: LabelSelectorRequirement, path: FieldPath): FieldError[] {
  const { key = '', operator = '', values = [] } = expression
  const errors: FieldError[] = []
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      errors.push(required(path.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"))
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      errors.push(forbidden(path.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
  } else errors.push(invalid(path.child('operator'), operator, 'not a valid selector operator'))
  errors.push(...validateLabelName(key, path.child('key')))
  values.forEach((value, index) => {
    for (const message of isLabelValue(value)) errors.push(invalid(path.child('values').index(index), value, message))
  })
  return errors
}
