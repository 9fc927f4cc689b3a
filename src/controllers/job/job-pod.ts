import type { Job } from '../../api/generated/batch-v1.ts'
import type { ContainerStatus, Pod } from '../../api/generated/core-v1.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { parseTime } from '../../api/meta/time.ts'

/** Keeps a pod until its end has been counted (KEP-2307). */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking'
export const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index'
export const INDEX_FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count'
export const INDEX_IGNORED_FAILURE_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count'

export const isTracked = (pod: Pod) => pod.metadata.finalizers?.includes(TRACKING_FINALIZER) ?? false
export const isIndexed = (job: Job) => job.spec?.completionMode === 'Indexed'
export const hasBackoffLimitPerIndex = (job: Job) => job.spec?.backoffLimitPerIndex !== undefined
export const isSuspended = (job: Job) => job.spec?.suspend === true
/** A terminating pod is replaced only once it has ended. */
export const replacesFailedOnly = (job: Job) => job.spec?.podReplacementPolicy === 'Failed'

/** The index of a pod; undefined if it has none that its job could have given. */
export function completionIndex(pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[COMPLETION_INDEX]
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}

export function hasValidIndex(job: Job, pod: Pod): boolean {
  const index = completionIndex(pod)
  return index !== undefined && index < (job.spec?.completions ?? 0)
}

/** A pod that is deleted before it has ended never will succeed, unless one must wait for what it comes to. */
export function isFailed(job: Job, pod: Pod): boolean {
  if (pod.status?.phase === 'Failed') return true
  if (replacesFailedOnly(job)) return false
  return pod.metadata.deletionTimestamp !== undefined && pod.status?.phase !== 'Succeeded'
}

export const failuresOfIndex = (pod: Pod) => countOf(pod, INDEX_FAILURE_COUNT)
export const ignoredFailuresOfIndex = (pod: Pod) => countOf(pod, INDEX_IGNORED_FAILURE_COUNT)

function countOf(pod: Pod, annotation: string): number {
  const text = pod.metadata.annotations?.[annotation] ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : 0
}

/** When a pod ended, in milliseconds, as well as it can be told. */
export function finishedTime(pod: Pod): number {
  const { creationTimestamp = '', deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata
  const ofContainers = containersFinished(pod)
  if (ofContainers !== undefined) return ofContainers
  const ready = findCondition(pod.status?.conditions, 'Ready')
  const unready = ready?.status === 'False' ? parseTime(ready.lastTransitionTime ?? '') : undefined
  if (unready !== undefined) return unready
  const deleted = deletionTimestamp === undefined ? undefined : parseTime(deletionTimestamp)
  if (deleted !== undefined) return deleted - deletionGracePeriodSeconds * 1000
  return parseTime(creationTimestamp) ?? 0
}

function containersFinished(pod: Pod): number | undefined {
  const sidecars = new Set(
    (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name),
  )
  const statuses: ContainerStatus[] = [
    ...(pod.status?.containerStatuses ?? []),
    ...(pod.status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ]
  let latest: number | undefined
  for (const { state } of statuses) {
    const time = parseTime(state?.terminated?.finishedAt ?? '')
    if (time === undefined) return undefined
    latest = Math.max(latest ?? time, time)
  }
  return latest
}
