import type { NodeSelector, NodeSelectorRequirement } from '../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, required } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { validateLabelName } from '../../meta/labels-validation.ts'
import { isLabelValue, nameIsDnsSubdomain } from '../../meta/names.ts'

/** Which nodes something may live on: volumes and devices name them with the same terms as pods do. */
export function validateNodeSelector(selector: NodeSelector, path: FieldPath): FieldError[] {
  const terms = path.child('nodeSelectorTerms')
  if (!selector.nodeSelectorTerms?.length) return [required(terms, 'must have at least one node selector term')]
  return selector.nodeSelectorTerms.flatMap(({ matchExpressions = [], matchFields = [] }, index) => {
    const term = terms.index(index)
    return [
      ...matchExpressions.flatMap((requirement, i) =>
        validateExpression(requirement, term.child('matchExpressions').index(i)),
      ),
      ...matchFields.flatMap((requirement, i) => validateField(requirement, term.child('matchFields').index(i))),
    ]
  })
}

function validateExpression(requirement: NodeSelectorRequirement, path: FieldPath): FieldError[] {
  const { key = '', operator = '', values = [] } = requirement
  const errors = validateCount(operator, values.length, path)
  errors.push(...validateLabelName(key, path.child('key')))
  values.forEach((value, index) => {
    for (const message of isLabelValue(value)) errors.push(invalid(path.child('values').index(index), value, message))
  })
  return errors
}

/** How many values each operator takes. */
function validateCount(operator: string, count: number, path: FieldPath): FieldError[] {
  const values = path.child('values')
  switch (operator) {
    case 'In':
    case 'NotIn':
      return count > 0 ? [] : [required(values, "must be specified when `operator` is 'In' or 'NotIn'")]
    case 'Exists':
    case 'DoesNotExist':
      return count === 0
        ? []
        : [forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    case 'Gt':
    case 'Lt':
      return count === 1 ? [] : [required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'")]
    default:
      return [invalid(path.child('operator'), operator, 'not a valid selector operator')]
  }
}

/** The only field of a node that can be selected is its name. */
function validateField(requirement: NodeSelectorRequirement, path: FieldPath): FieldError[] {
  const { key = '', operator = '', values = [] } = requirement
  const errors: FieldError[] = []
  if (operator !== 'In' && operator !== 'NotIn')
    errors.push(invalid(path.child('operator'), operator, 'not a valid selector operator'))
  else if (values.length !== 1)
    errors.push(
      required(
        path.child('values'),
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      ),
    )
  if (key !== 'metadata.name') return [...errors, invalid(path.child('key'), key, 'not a valid field selector key')]
  values.forEach((value, index) => {
    for (const message of nameIsDnsSubdomain(value, false))
      errors.push(invalid(path.child('values').index(index), value, message))
  })
  return errors
}
