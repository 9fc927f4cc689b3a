import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from '../../../generated/batch-v1.ts'
import { duplicate, type FieldError, invalid, required, tooLong, tooMany } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isQualifiedName } from '../../../meta/names.ts'
import { checkChoice, checkNotNegative, refuseField } from '../../core/pod/pod-check.ts'
import { countIndexes } from './indexes.ts'

const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const OPERATORS = ['In', 'NotIn']
const CONDITION_STATUSES = ['False', 'True', 'Unknown']
const MAX_RULES = 20
const MAX_PATTERNS = 20
const MAX_EXIT_CODES = 255
const MAX_INDEXES_TEXT = 64 * 1024

/** An error about a value too large to repeat. */
export const invalidAt = (path: FieldPath, detail: string): FieldError => ({
  reason: 'FieldValueInvalid',
  field: path.toString(),
  message: `Invalid value: ${detail}`,
})

const NOT_BOTH = 'both OnExitCodes and OnPodConditions is not supported'
const ONE_OF_BOTH = 'one of OnExitCodes and OnPodConditions is required'
const quoted = (values: readonly string[]) => `valid values: [${values.map((value) => `"${value}"`).join(' ')}]`

export function validatePodFailurePolicy(spec: JobSpec, path: FieldPath, errors: FieldError[]): void {
  const rules = spec.podFailurePolicy?.rules ?? []
  const at = path.child('rules')
  if (rules.length > MAX_RULES) errors.push(tooMany(at, rules.length, MAX_RULES))
  const pod = spec.template?.spec
  const names = new Set([...(pod?.containers ?? []), ...(pod?.initContainers ?? [])].map((each) => each.name))
  rules.forEach((rule, i) => {
    checkFailureRule(spec, rule, names, at.index(i), errors)
  })
}

function checkFailureRule(
  spec: JobSpec,
  rule: PodFailurePolicyRule,
  containers: ReadonlySet<string>,
  path: FieldPath,
  errors: FieldError[],
): void {
  const { action, onExitCodes, onPodConditions = [] } = rule
  checkChoice(errors, path, 'action', action, ACTIONS, quoted(ACTIONS))
  if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined)
    errors.push(invalid(path.child('action'), action, 'requires the backoffLimitPerIndex to be set'))
  if (onExitCodes) checkExitCodes(onExitCodes, containers, path.child('onExitCodes'), errors)
  checkConditionPatterns(rule, path.child('onPodConditions'), errors)
  const hasConditions = onPodConditions.length > 0
  if (hasConditions !== (onExitCodes === undefined))
    errors.push(invalidAt(path, `specifying ${hasConditions ? NOT_BOTH : ONE_OF_BOTH}`))
}

function checkConditionPatterns(rule: PodFailurePolicyRule, path: FieldPath, errors: FieldError[]): void {
  const patterns = rule.onPodConditions ?? []
  if (patterns.length > MAX_PATTERNS) errors.push(tooMany(path, patterns.length, MAX_PATTERNS))
  patterns.forEach((pattern, i) => {
    const { type = '', status = '' } = pattern
    refuseField(errors, path.index(i), 'type', type, isQualifiedName(type))
    checkChoice(errors, path.index(i), 'status', status, CONDITION_STATUSES, quoted(CONDITION_STATUSES))
  })
}

function checkExitCodes(
  codes: PodFailurePolicyOnExitCodesRequirement,
  containers: ReadonlySet<string>,
  path: FieldPath,
  errors: FieldError[],
): void {
  const { operator = '', containerName, values = [] } = codes
  checkChoice(errors, path, 'operator', operator, OPERATORS, quoted(OPERATORS))
  if (containerName !== undefined && !containers.has(containerName))
    errors.push(
      invalid(
        path.child('containerName'),
        containerName,
        'must be one of the container or initContainer names in the pod template',
      ),
    )
  const at = path.child('values')
  if (values.length === 0) errors.push(invalid(at, values, 'at least one value is required'))
  else if (values.length > MAX_EXIT_CODES) errors.push(tooMany(at, values.length, MAX_EXIT_CODES))
  const seen = new Set<number>()
  values.forEach((code, i) => {
    if (operator === 'In' && code === 0) errors.push(invalid(at.index(i), code, 'must not be 0 for the In operator'))
    if (seen.has(code)) errors.push(duplicate(at.index(i), code))
    seen.add(code)
  })
  if (values.some((code, i) => i > 0 && values[i - 1]! > code)) errors.push(invalid(at, values, 'must be ordered'))
}

export function validateSuccessPolicy(spec: JobSpec, path: FieldPath, errors: FieldError[]): void {
  const rules = spec.successPolicy?.rules ?? []
  const at = path.child('rules')
  if (rules.length === 0)
    errors.push(required(at, 'at least one rules must be specified when the successPolicy is specified'))
  if (rules.length > MAX_RULES) errors.push(tooMany(at, rules.length, MAX_RULES))
  rules.forEach((rule, i) => {
    checkSuccessRule(rule, spec.completions ?? 0, at.index(i), errors)
  })
}

function checkSuccessRule(rule: SuccessPolicyRule, completions: number, path: FieldPath, errors: FieldError[]): void {
  const { succeededCount: count, succeededIndexes: indexes } = rule
  if (count === undefined && indexes === undefined)
    errors.push(required(path, 'at least one of succeededCount or succeededIndexes must be specified'))
  const total = indexes === undefined ? undefined : checkIndexes(indexes, completions, path, errors)
  if (count === undefined) return
  const at = path.child('succeededCount')
  checkNotNegative(errors, path, 'succeededCount', count)
  if (count > completions)
    errors.push(
      invalid(at, count, `must be less than or equal to ${completions} (the number of specified completions)`),
    )
  if (total !== undefined && count > total)
    errors.push(
      invalid(
        at,
        count,
        `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`,
      ),
    )
}

function checkIndexes(indexes: string, completions: number, path: FieldPath, errors: FieldError[]): number | undefined {
  const at = path.child('succeededIndexes')
  if (indexes.length > MAX_INDEXES_TEXT) errors.push(tooLong(at, MAX_INDEXES_TEXT))
  const total = countIndexes(indexes, completions)
  if (typeof total === 'number') return total
  errors.push(invalid(at, indexes, `error parsing succeededIndexes: ${total}`))
  return undefined
}
