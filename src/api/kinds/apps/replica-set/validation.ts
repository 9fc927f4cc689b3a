import { deepEqual } from '../../../../base/deep-equal.ts'
import type { ReplicaSet, ReplicaSetSpec } from '../../../generated/apps-v1.ts'
import { type FieldError, invalid } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import type { KubernetesObject } from '../../../meta/object.ts'
import { checkNotNegative } from '../../core/pod/pod-check.ts'
import { checkRunningTemplate, checkStatusCounts, checkTemplateLabels, checkWorkloadSelector } from '../workload.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const NO_MORE = 'cannot be greater than status.replicas'

export function validateReplicaSet(replicaSet: ReplicaSet): FieldError[] {
  const errors: FieldError[] = []
  const spec = replicaSet.spec ?? ({} as ReplicaSetSpec)
  checkNotNegative(errors, SPEC, 'replicas', spec.replicas)
  checkNotNegative(errors, SPEC, 'minReadySeconds', spec.minReadySeconds)
  // Clients know this message with the word "deployment".
  checkWorkloadSelector(spec.selector, 'deployment', SPEC.child('selector'), errors)
  checkTemplateLabels(spec.template, spec.selector, SPEC.child('template'), errors)
  checkRunningTemplate(spec.template, 'ReplicaSet', SPEC.child('template'), errors)
  return errors
}

export function validateReplicaSetUpdate(replicaSet: ReplicaSet, old: ReplicaSet): FieldError[] {
  if (deepEqual(replicaSet.spec?.selector, old.spec?.selector)) return []
  return [invalid(SPEC.child('selector'), replicaSet.spec?.selector, 'field is immutable')]
}

interface ReplicaCounts {
  replicas?: number
  fullyLabeledReplicas?: number
  readyReplicas?: number
  availableReplicas?: number
  observedGeneration?: number
}

/** Also the rules for the status of a ReplicationController. */
export function validateReplicaSetStatus(object: KubernetesObject & { status?: ReplicaCounts }): FieldError[] {
  return checkStatusCounts(
    object.status ?? {},
    STATUS,
    ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration'],
    [
      ['fullyLabeledReplicas', 'replicas', NO_MORE],
      ['readyReplicas', 'replicas', NO_MORE],
      ['availableReplicas', 'replicas', NO_MORE],
      ['availableReplicas', 'readyReplicas', 'cannot be greater than readyReplicas'],
    ],
  )
}
