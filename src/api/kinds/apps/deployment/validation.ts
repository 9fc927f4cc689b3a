import { deepEqual } from '../../../../base/deep-equal.ts'
import type {
  Deployment,
  DeploymentSpec,
  DeploymentStrategy,
  RollingUpdateDeployment,
} from '../../../generated/apps-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { checkNotNegative } from '../../core/pod/pod-check.ts'
import { amountOf, checkAtMost100Percent, checkIntOrPercent } from '../rolling-update.ts'
import { checkRunningTemplate, checkStatusCounts, checkTemplateLabels, checkWorkloadSelector } from '../workload.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const STRATEGIES = ['Recreate', 'RollingUpdate']
const NO_MORE = 'cannot be greater than status.replicas'

export function validateDeployment(deployment: Deployment): FieldError[] {
  const errors: FieldError[] = []
  const spec = deployment.spec ?? ({} as DeploymentSpec)
  checkNotNegative(errors, SPEC, 'replicas', spec.replicas)
  checkWorkloadSelector(spec.selector, 'deployment', SPEC.child('selector'), errors)
  checkTemplateLabels(spec.template, spec.selector, SPEC.child('template'), errors)
  // The pods belong to a ReplicaSet, and that is what the message names.
  checkRunningTemplate(spec.template, 'ReplicaSet', SPEC.child('template'), errors)
  checkStrategy(spec.strategy ?? {}, SPEC.child('strategy'), errors)
  checkNotNegative(errors, SPEC, 'minReadySeconds', spec.minReadySeconds)
  checkNotNegative(errors, SPEC, 'revisionHistoryLimit', spec.revisionHistoryLimit)
  checkDeadline(spec, errors)
  return errors
}

function checkDeadline(spec: DeploymentSpec, errors: FieldError[]): void {
  const deadline = spec.progressDeadlineSeconds
  if (deadline === undefined) return
  checkNotNegative(errors, SPEC, 'progressDeadlineSeconds', deadline)
  if (deadline <= (spec.minReadySeconds ?? 0))
    errors.push(invalid(SPEC.child('progressDeadlineSeconds'), deadline, 'must be greater than minReadySeconds'))
}

function checkStrategy(strategy: DeploymentStrategy, path: FieldPath, errors: FieldError[]): void {
  const { type = '', rollingUpdate } = strategy
  const at = path.child('rollingUpdate')
  if (!STRATEGIES.includes(type)) errors.push(notSupported(path, strategy, STRATEGIES))
  else if (type === 'RollingUpdate' && rollingUpdate) checkRollingUpdate(rollingUpdate, at, errors)
  else if (type === 'RollingUpdate') errors.push(required(at, 'this should be defaulted and never be nil'))
  else if (rollingUpdate) errors.push(forbidden(at, "may not be specified when strategy `type` is 'Recreate'"))
}

/** Steps of a rollout; with neither room above nor below, none could be made. */
function checkRollingUpdate(step: RollingUpdateDeployment, at: FieldPath, errors: FieldError[]): void {
  const { maxUnavailable, maxSurge } = step
  checkIntOrPercent(maxUnavailable, at.child('maxUnavailable'), errors)
  checkIntOrPercent(maxSurge, at.child('maxSurge'), errors)
  if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0)
    errors.push(invalid(at.child('maxUnavailable'), maxUnavailable, 'may not be 0 when `maxSurge` is 0'))
  checkAtMost100Percent(maxUnavailable, at.child('maxUnavailable'), errors)
}

export function validateDeploymentUpdate(deployment: Deployment, old: Deployment): FieldError[] {
  if (deepEqual(deployment.spec?.selector, old.spec?.selector)) return []
  return [invalid(SPEC.child('selector'), deployment.spec?.selector, 'field is immutable')]
}

export function validateDeploymentStatus(deployment: Deployment, old: Deployment): FieldError[] {
  const status = deployment.status ?? {}
  const errors = checkStatusCounts(
    status,
    STATUS,
    [
      'observedGeneration',
      'replicas',
      'updatedReplicas',
      'readyReplicas',
      'availableReplicas',
      'unavailableReplicas',
      'terminatingReplicas',
      'collisionCount',
    ],
    [
      ['updatedReplicas', 'replicas', NO_MORE],
      ['readyReplicas', 'replicas', NO_MORE],
      ['availableReplicas', 'replicas', NO_MORE],
      ['availableReplicas', 'readyReplicas', 'cannot be greater than readyReplicas'],
    ],
  )
  if ((status.collisionCount ?? 0) < (old.status?.collisionCount ?? 0))
    errors.push(invalid(STATUS.child('collisionCount'), status.collisionCount ?? 0, 'cannot be decremented'))
  return errors
}
