import type { Pod } from '../../api/generated/core-v1.ts'
import { findCondition, isConditionTrue } from '../../api/meta/conditions.ts'
import { parseTime } from '../../api/meta/time.ts'

export const isTerminating = (pod: Pod) => pod.metadata.deletionTimestamp !== undefined

/** It has ended, well or not. */
export const isFinished = (pod: Pod) => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'

/** It runs or is going to. */
export const isActive = (pod: Pod) => !isFinished(pod) && !isTerminating(pod)

export const isReady = (pod: Pod) => isConditionTrue(pod.status?.conditions, 'Ready')

/** When it became ready, in milliseconds; undefined if it is not or does not say. */
export function readySince(pod: Pod): number | undefined {
  const ready = findCondition(pod.status?.conditions, 'Ready')
  if (ready?.status !== 'True' || !ready.lastTransitionTime) return undefined
  return parseTime(ready.lastTransitionTime)
}

/**
 * Milliseconds until a pod will have been ready for `minReadySeconds`: 0 when it is available, undefined when it is
 * not even ready.
 */
export function availableIn(pod: Pod, minReadySeconds: number | undefined, now: number): number | undefined {
  if (!isReady(pod)) return undefined
  if (!minReadySeconds) return 0
  const since = readySince(pod)
  return since === undefined ? undefined : Math.max(0, since + minReadySeconds * 1000 - now)
}

export const isAvailable = (pod: Pod, minReadySeconds: number | undefined, now: number) =>
  availableIn(pod, minReadySeconds, now) === 0

/** The earliest moment at which one more pod becomes available, as a delay; undefined if none is on the way. */
export function nextAvailableIn(pods: readonly Pod[], minReadySeconds: number | undefined, now: number) {
  if (!minReadySeconds) return undefined
  let next: number | undefined
  for (const pod of pods) {
    const delay = availableIn(pod, minReadySeconds, now)
    if (delay && (next === undefined || delay < next)) next = delay
  }
  return next
}
