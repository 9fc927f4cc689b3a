import type { ReplicaSetStatus } from '../../api/generated/apps-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { withCondition, withoutCondition } from '../../api/meta/conditions.ts'
import type { Labels } from '../../api/meta/label-selector.ts'
import { formatTime } from '../../api/meta/time.ts'
import { messageOf } from '../pod-control/pod-control.ts'
import { isAvailable, isReady } from '../pod-control/pod-state.ts'
import type { ReplicaPods, Replicated } from './replicas.ts'

export interface Failure {
  readonly reason: 'FailedCreate' | 'FailedDelete'
  readonly error: unknown
}

/** The status that `pods` amount to. */
export function replicaStatus(
  owner: Replicated,
  pods: ReplicaPods,
  failure: Failure | undefined,
  now: number,
  countsTerminating: boolean,
): ReplicaSetStatus {
  const { minReadySeconds, template } = owner.spec ?? {}
  const labels = template?.metadata?.labels
  let fullyLabeledReplicas = 0
  let readyReplicas = 0
  let availableReplicas = 0
  for (const pod of pods.active) {
    if (hasLabels(pod, labels)) fullyLabeledReplicas++
    if (!isReady(pod)) continue
    readyReplicas++
    if (isAvailable(pod, minReadySeconds, now)) availableReplicas++
  }
  const conditions = failureConditions(owner.status, failure, now)
  return {
    replicas: pods.active.length,
    ...(fullyLabeledReplicas && { fullyLabeledReplicas }),
    ...(readyReplicas && { readyReplicas }),
    ...(availableReplicas && { availableReplicas }),
    ...(countsTerminating && { terminatingReplicas: pods.terminating.length }),
    ...(owner.metadata.generation && { observedGeneration: owner.metadata.generation }),
    ...(conditions.length > 0 && { conditions: [...conditions] }),
  }
}

function failureConditions(status: ReplicaSetStatus | undefined, failure: Failure | undefined, now: number) {
  if (!failure) return withoutCondition(status?.conditions, 'ReplicaFailure')
  const known = status?.conditions?.find((condition) => condition.type === 'ReplicaFailure')
  // The text differs with each attempt (generated names): the first one stays until the reason changes.
  if (known?.status === 'True' && known.reason === failure.reason) return status?.conditions ?? []
  const condition = {
    type: 'ReplicaFailure',
    status: 'True',
    reason: failure.reason,
    message: messageOf(failure.error),
  }
  return withCondition(status?.conditions, condition, formatTime(now))
}

function hasLabels(pod: Pod, wanted: Labels): boolean {
  const { labels } = pod.metadata
  for (const key in wanted) if (labels?.[key] !== wanted[key]) return false
  return true
}
