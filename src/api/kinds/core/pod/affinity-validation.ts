import type {
  Affinity,
  NodeAffinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
} from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { validateLabelName } from '../../../meta/labels-validation.ts'
import { isDns1123Label, isDns1123Subdomain, isLabelValue } from '../../../meta/names.ts'
import { validateSelector } from './label-selectors.ts'
import { validateMatchLabelKeys } from './match-label-keys.ts'
import { refuse, refuseField } from './pod-check.ts'

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution'

type ValuesCheck = (count: number, path: FieldPath) => FieldError | undefined
const some: ValuesCheck = (count, path) =>
  count === 0 ? required(path, "must be specified when `operator` is 'In' or 'NotIn'") : undefined
const none: ValuesCheck = (count, path) =>
  count > 0 ? forbidden(path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'") : undefined
const one: ValuesCheck = (count, path) =>
  count === 1 ? undefined : required(path, "must be specified single value when `operator` is 'Lt' or 'Gt'")
/** How many values each operator compares with. */
const VALUES_OF: Readonly<Record<string, ValuesCheck>> = {
  In: some,
  NotIn: some,
  Exists: none,
  DoesNotExist: none,
  Gt: one,
  Lt: one,
}

export function validateAffinity(affinity: Affinity, path: FieldPath, errors: FieldError[]): void {
  if (affinity.nodeAffinity) checkNodeAffinity(affinity.nodeAffinity, path.child('nodeAffinity'), errors)
  if (affinity.podAffinity) checkPodAffinity(affinity.podAffinity, path.child('podAffinity'), errors)
  if (affinity.podAntiAffinity) checkPodAffinity(affinity.podAntiAffinity, path.child('podAntiAffinity'), errors)
}

function checkNodeAffinity(affinity: NodeAffinity, path: FieldPath, errors: FieldError[]): void {
  const needed = affinity[REQUIRED]
  if (needed) {
    const at = path.child(REQUIRED, 'nodeSelectorTerms')
    if (!needed.nodeSelectorTerms?.length) errors.push(required(at, 'must have at least one node selector term'))
    needed.nodeSelectorTerms?.forEach((term, i) => {
      checkNodeTerm(term, at.index(i), true, errors)
    })
  }
  affinity[PREFERRED]?.forEach((preferred, i) => {
    const at = path.child(PREFERRED).index(i)
    checkWeight(preferred.weight, at, errors)
    checkNodeTerm(preferred.preference ?? {}, at.child('preference'), false, errors)
  })
}

function checkWeight(weight: number | undefined, path: FieldPath, errors: FieldError[]): void {
  if (weight === undefined || weight <= 0 || weight > 100)
    errors.push(invalid(path.child('weight'), weight ?? 0, 'must be in the range 1-100'))
}

function checkNodeTerm(term: NodeSelectorTerm, path: FieldPath, values: boolean, errors: FieldError[]): void {
  term.matchExpressions?.forEach((expression, i) => {
    checkNodeExpression(expression, path.child('matchExpressions').index(i), values, errors)
  })
  term.matchFields?.forEach((expression, i) => {
    checkNodeField(expression, path.child('matchFields').index(i), errors)
  })
}

function checkNodeExpression(
  expression: NodeSelectorRequirement,
  path: FieldPath,
  checkValues: boolean,
  errors: FieldError[],
): void {
  const { key = '', operator = '', values = [] } = expression
  const at = path.child('values')
  const wrong = Object.hasOwn(VALUES_OF, operator) ? VALUES_OF[operator]!(values.length, at) : undefined
  if (wrong) errors.push(wrong)
  else if (!Object.hasOwn(VALUES_OF, operator))
    errors.push(invalid(path.child('operator'), operator, 'not a valid selector operator'))
  errors.push(...validateLabelName(key, path.child('key')))
  if (!checkValues) return
  values.forEach((value, i) => {
    refuse(errors, at.index(i), value, isLabelValue(value))
  })
}

/** Only the node's name can be asked for. */
function checkNodeField(expression: NodeSelectorRequirement, path: FieldPath, errors: FieldError[]): void {
  const { key = '', operator, values = [] } = expression
  if (operator !== 'In' && operator !== 'NotIn')
    errors.push(invalid(path.child('operator'), operator ?? '', 'not a valid selector operator'))
  else if (values.length !== 1)
    errors.push(
      required(
        path.child('values'),
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      ),
    )
  if (key !== 'metadata.name') {
    errors.push(invalid(path.child('key'), key, 'not a valid field selector key'))
    return
  }
  values.forEach((value, i) => {
    refuse(errors, path.child('values').index(i), value, isDns1123Subdomain(value))
  })
}

function checkPodAffinity(affinity: PodAffinity, path: FieldPath, errors: FieldError[]): void {
  affinity[REQUIRED]?.forEach((term, i) => {
    checkPodTerm(term, path.child(REQUIRED).index(i), errors)
  })
  affinity[PREFERRED]?.forEach((preferred, i) => {
    const at = path.child(PREFERRED).index(i)
    checkWeight(preferred.weight, at, errors)
    checkPodTerm(preferred.podAffinityTerm ?? { topologyKey: '' }, at.child('podAffinityTerm'), errors)
  })
}

function checkPodTerm(term: PodAffinityTerm, path: FieldPath, errors: FieldError[]): void {
  validateSelector(term.labelSelector, path.child('labelSelector'), errors)
  validateSelector(term.namespaceSelector, path.child('namespaceSelector'), errors)
  for (const namespace of term.namespaces ?? [])
    refuseField(errors, path, 'namespace', namespace, isDns1123Label(namespace))
  validateMatchLabelKeys(term, path, errors)
  const { topologyKey = '' } = term
  if (topologyKey === '') errors.push(required(path.child('topologyKey'), 'can not be empty'))
  errors.push(...validateLabelName(topologyKey, path.child('topologyKey')))
}
