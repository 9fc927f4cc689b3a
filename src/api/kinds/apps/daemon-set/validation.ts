import { deepEqual } from '../../../../base/deep-equal.ts'
import type { DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy } from '../../../generated/apps-v1.ts'
import { type FieldError, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { isEmptySelector, validateSelector } from '../../core/pod/label-selectors.ts'
import { checkNotNegative } from '../../core/pod/pod-check.ts'
import { amountOf, checkAtMost100Percent, checkIntOrPercent } from '../rolling-update.ts'
import { checkRunningTemplate, checkStatusCounts, checkTemplateLabels } from '../workload.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')

export function validateDaemonSet(daemonSet: DaemonSet): FieldError[] {
  const errors: FieldError[] = []
  const spec = daemonSet.spec ?? ({} as DaemonSetSpec)
  validateSelector(spec.selector, SPEC.child('selector'), errors)
  checkTemplateLabels(spec.template, spec.selector, SPEC.child('template'), errors)
  if (spec.selector && isEmptySelector(spec.selector))
    errors.push(invalid(SPEC.child('selector'), spec.selector, 'empty selector is invalid for daemonset'))
  checkRunningTemplate(spec.template, 'DaemonSet', SPEC.child('template'), errors)
  checkNotNegative(errors, SPEC, 'minReadySeconds', spec.minReadySeconds)
  checkUpdateStrategy(spec.updateStrategy ?? {}, SPEC.child('updateStrategy'), errors)
  checkNotNegative(errors, SPEC, 'revisionHistoryLimit', spec.revisionHistoryLimit)
  return errors
}

function checkUpdateStrategy(strategy: DaemonSetUpdateStrategy, path: FieldPath, errors: FieldError[]): void {
  if (strategy.type === 'OnDelete') return
  if (strategy.type !== 'RollingUpdate') {
    errors.push(notSupported(path, strategy, ['RollingUpdate', 'OnDelete']))
    return
  }
  const at = path.child('rollingUpdate')
  if (!strategy.rollingUpdate) {
    errors.push(required(at))
    return
  }
  const { maxUnavailable, maxSurge } = strategy.rollingUpdate
  checkIntOrPercent(maxUnavailable, at.child('maxUnavailable'), errors)
  checkIntOrPercent(maxSurge, at.child('maxSurge'), errors)
  checkAtMost100Percent(maxUnavailable, at.child('maxUnavailable'), errors)
  checkAtMost100Percent(maxSurge, at.child('maxSurge'), errors)
  // A node has one pod of the set: either it is missing for a while, or there are two.
  if (amountOf(maxUnavailable) !== 0 && amountOf(maxSurge) !== 0)
    errors.push(invalid(at.child('maxSurge'), maxSurge, 'may not be set when maxUnavailable is non-zero'))
  if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0)
    errors.push(required(at.child('maxUnavailable'), 'cannot be 0 when maxSurge is 0'))
}

export function validateDaemonSetUpdate(daemonSet: DaemonSet, old: DaemonSet): FieldError[] {
  if (deepEqual(daemonSet.spec?.selector, old.spec?.selector)) return []
  return [invalid(SPEC.child('selector'), daemonSet.spec?.selector, 'field is immutable')]
}

export function validateDaemonSetStatus(daemonSet: DaemonSet, old: DaemonSet): FieldError[] {
  const status: Partial<NonNullable<DaemonSet['status']>> = daemonSet.status ?? {}
  const errors = checkStatusCounts(
    status,
    STATUS,
    [
      'currentNumberScheduled',
      'numberMisscheduled',
      'desiredNumberScheduled',
      'numberReady',
      'observedGeneration',
      'updatedNumberScheduled',
      'numberAvailable',
      'numberUnavailable',
      'collisionCount',
    ],
    [],
  )
  if ((status.collisionCount ?? 0) < (old.status?.collisionCount ?? 0))
    errors.push(invalid(STATUS.child('collisionCount'), status.collisionCount ?? 0, 'cannot be decremented'))
  return errors
}
