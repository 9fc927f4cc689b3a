import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from '../../generated/policy-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid, notSupported } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../strategy.ts'
import { checkAtMost100Percent, checkIntOrPercent } from '../apps/rolling-update.ts'
import { validateSelector } from '../core/pod/label-selectors.ts'
import { checkNotNegative } from '../core/pod/pod-check.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const EVICTION_POLICIES = ['AlwaysAllow', 'IfHealthyBudget']

export const podDisruptionBudgetKind = defineKind<PodDisruptionBudget>({
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  shortNames: ['pdb'],
  schema: 'io.k8s.api.policy.v1.PodDisruptionBudget',
  prepareCreate(draft) {
    draft.status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }
    draft.metadata.generation = 1
  },
  prepareUpdate: prepareUpdateWithStatus,
  validate: validatePodDisruptionBudget,
  subresources: { status: statusSubresource({ validateUpdate: validateStatus }) },
  columns: [
    nameColumn,
    column('Min Available', 'Pods that must stay.', ({ spec }) => String(spec?.minAvailable ?? 'N/A')),
    column('Max Unavailable', 'Pods that may be missing.', ({ spec }) => String(spec?.maxUnavailable ?? 'N/A')),
    column('Allowed Disruptions', 'Pods that may go now.', ({ status }) => status?.disruptionsAllowed ?? 0, 'integer'),
    ageColumn,
  ],
})

function validatePodDisruptionBudget(budget: PodDisruptionBudget): FieldError[] {
  const errors: FieldError[] = []
  const spec: PodDisruptionBudgetSpec = budget.spec ?? {}
  if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined)
    errors.push(invalid(SPEC, spec, 'minAvailable and maxUnavailable cannot be both set'))
  for (const field of ['minAvailable', 'maxUnavailable'] as const) {
    checkIntOrPercent(spec[field], SPEC.child(field), errors)
    checkAtMost100Percent(spec[field], SPEC.child(field), errors)
  }
  validateSelector(spec.selector, SPEC.child('selector'), errors)
  const policy = spec.unhealthyPodEvictionPolicy
  if (policy !== undefined && !EVICTION_POLICIES.includes(policy))
    errors.push(notSupported(SPEC.child('unhealthyPodEvictionPolicy'), policy, EVICTION_POLICIES))
  return errors
}

function validateStatus(budget: PodDisruptionBudget): FieldError[] {
  const errors: FieldError[] = []
  for (const field of ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const)
    checkNotNegative(errors, STATUS, field, budget.status?.[field])
  return errors
}
