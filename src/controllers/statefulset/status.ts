import type { StatefulSet, StatefulSetStatus } from '../../api/generated/apps-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { isAvailable, isReady, isTerminating } from '../pod-control/pod-state.ts'
import { revisionOf } from './identity.ts'

/** The two revisions a set can be between; the same one when it is not updating. */
export interface Revisions {
  readonly current: string
  readonly update: string
  readonly collisionCount: number
}

export const isRunningAndReady = (pod: Pod) => pod.status?.phase === 'Running' && isReady(pod)

export const isRunningAndAvailable = (set: StatefulSet, pod: Pod, now: number) =>
  pod.status?.phase === 'Running' && isAvailable(pod, set.spec?.minReadySeconds, now)

export const isUnavailable = (set: StatefulSet, pod: Pod, now: number) =>
  isTerminating(pod) || !isRunningAndAvailable(set, pod, now)

export function statefulSetStatus(
  set: StatefulSet,
  pods: readonly Pod[],
  revisions: Revisions,
  now: number,
): StatefulSetStatus {
  const staying = pods.filter((pod) => !isTerminating(pod))
  const readyReplicas = pods.filter(isRunningAndReady).length
  const updatedReplicas = staying.filter((pod) => revisionOf(pod) === revisions.update).length
  const isUpdated = updatedReplicas === pods.length && readyReplicas === pods.length
  const isRolling = set.spec?.updateStrategy?.type !== 'OnDelete'
  // A rolling update that has reached every pod makes its revision the current one.
  const current = isRolling && isUpdated ? revisions.update : revisions.current
  const currentReplicas = staying.filter((pod) => revisionOf(pod) === current).length
  return {
    ...(set.status?.conditions && { conditions: set.status.conditions }),
    ...(set.metadata.generation && { observedGeneration: set.metadata.generation }),
    replicas: pods.length,
    ...(readyReplicas && { readyReplicas }),
    availableReplicas: pods.filter((pod) => isRunningAndAvailable(set, pod, now)).length,
    ...(currentReplicas && { currentReplicas }),
    ...(updatedReplicas && { updatedReplicas }),
    currentRevision: current,
    updateRevision: revisions.update,
    collisionCount: revisions.collisionCount,
  }
}
