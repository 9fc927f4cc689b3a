import type { Toleration, TopologySpreadConstraint } from '../../../generated/core-v1.ts'
import { duplicate, type FieldError, invalid, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { validateLabelName } from '../../../meta/labels-validation.ts'
import { isLabelValue } from '../../../meta/names.ts'
import { validateSelector } from './label-selectors.ts'
import { validateMatchLabelKeys } from './match-label-keys.ts'

const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']
const SPREAD_ACTIONS = ['DoNotSchedule', 'ScheduleAnyway']
const NODE_POLICIES = ['Honor', 'Ignore']
const NOT_POSITIVE = 'must be greater than zero'

export function validateTolerations(tolerations: readonly Toleration[], path: FieldPath, errors: FieldError[]): void {
  tolerations.forEach((toleration, i) => {
    checkToleration(toleration, path.index(i), errors)
  })
}

function checkToleration(toleration: Toleration, path: FieldPath, errors: FieldError[]): void {
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration
  if (key !== '') errors.push(...validateLabelName(key, path.child('key')))
  if (key === '' && operator !== 'Exists')
    errors.push(
      invalid(
        path.child('operator'),
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    )
  if (tolerationSeconds !== undefined && effect !== 'NoExecute')
    errors.push(invalid(path.child('effect'), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
  checkOperator(operator, value, path.child('operator'), errors)
  if (effect !== '' && !TAINT_EFFECTS.includes(effect))
    errors.push(notSupported(path.child('effect'), effect, TAINT_EFFECTS))
}

function checkOperator(operator: string, value: string, path: FieldPath, errors: FieldError[]): void {
  if (operator === 'Equal' || operator === '') {
    const messages = isLabelValue(value)
    if (messages.length > 0) errors.push(invalid(path, value, messages.join(';')))
  } else if (operator === 'Exists') {
    if (value !== '') errors.push(invalid(path, value, "value must be empty when `operator` is 'Exists'"))
  } else if (operator === 'Lt' || operator === 'Gt')
    errors.push(notSupported(path, operator, ['Equal', 'Exists', 'Lt', 'Gt']))
  else errors.push(notSupported(path, operator, ['Equal', 'Exists']))
}

export function validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[],
  path: FieldPath,
  errors: FieldError[],
): void {
  const last = new Map(constraints.map((constraint, i) => [spreadKey(constraint), i]))
  constraints.forEach((constraint, i) => {
    const at = path.index(i)
    const { maxSkew = 0, topologyKey = '', whenUnsatisfiable = '' } = constraint
    if (maxSkew <= 0) errors.push(invalid(at.child('maxSkew'), maxSkew, NOT_POSITIVE))
    if (topologyKey === '') errors.push(required(at.child('topologyKey'), 'can not be empty'))
    else errors.push(...validateLabelName(topologyKey, at.child('topologyKey')))
    if (!SPREAD_ACTIONS.includes(whenUnsatisfiable))
      errors.push(notSupported(at.child('whenUnsatisfiable'), whenUnsatisfiable, SPREAD_ACTIONS))
    if (last.get(spreadKey(constraint)) !== i)
      errors.push(duplicate(at.child('{topologyKey, whenUnsatisfiable}'), `{${topologyKey}, ${whenUnsatisfiable}}`))
    checkSpreadOptions(constraint, at, errors)
    validateMatchLabelKeys(constraint, at, errors)
    validateSelector(constraint.labelSelector, at.child('labelSelector'), errors)
  })
}

const spreadKey = ({ topologyKey, whenUnsatisfiable }: TopologySpreadConstraint) =>
  JSON.stringify([topologyKey, whenUnsatisfiable])

function checkSpreadOptions(constraint: TopologySpreadConstraint, path: FieldPath, errors: FieldError[]): void {
  const { minDomains, whenUnsatisfiable } = constraint
  if (minDomains !== undefined) {
    if (minDomains <= 0) errors.push(invalid(path.child('minDomains'), minDomains, NOT_POSITIVE))
    if (whenUnsatisfiable !== 'DoNotSchedule')
      errors.push(
        invalid(
          path.child('minDomains'),
          minDomains,
          `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
        ),
      )
  }
  for (const field of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
    const policy = constraint[field]
    if (policy !== undefined && !NODE_POLICIES.includes(policy))
      errors.push(notSupported(path.child(field), policy, NODE_POLICIES))
  }
}
