import type { JobStatus } from '../../api/generated/batch-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { IndexSet } from './index-set.ts'
import { completionIndex, hasBackoffLimitPerIndex, hasValidIndex, isFailed, isIndexed } from './job-pod.ts'
import type { Observation } from './observation.ts'
import type { Outcome } from './outcome.ts'
import { judgeFailure } from './policies.ts'

/** More uids than this would make the status too large. */
const MAX_UNCOUNTED = 500

export interface Tracking {
  readonly status: JobStatus
  /** Pods that have been noted in the status and may lose their finalizer once it is written. */
  readonly release: readonly Pod[]
  /** There was no room for all. */
  readonly isPartial: boolean
}

/**
 * Notes the uids of ended pods in the status. Only after that is written do they lose their finalizer, and only after
 * that are they counted: whatever is interrupted can be taken up again, and no pod is counted twice or lost (KEP-2307).
 */
export function track(observation: Observation, status: JobStatus, outcome: Outcome | undefined): Tracking {
  const { job, pods, countedIndexes } = observation
  const succeeded = new Set(status.uncountedTerminatedPods?.succeeded)
  const failed = new Set(status.uncountedTerminatedPods?.failed)
  const newIndexes = new Set<number>()
  const release: Pod[] = []
  let isPartial = false
  for (const pod of pods) {
    if (!observation.isUncounted(pod) || !mayRelease(observation, pod, outcome)) continue
    release.push(pod)
    const { uid = '' } = pod.metadata
    if (pod.status?.phase === 'Succeeded' && !failed.has(uid)) {
      if (!isIndexed(job)) {
        succeeded.add(uid)
      } else if (hasValidIndex(job, pod) && !countedIndexes.has(completionIndex(pod)!))
        newIndexes.add(completionIndex(pod)!)
    } else if (isFailed(job, pod) || (outcome && !outcome.isSuccess)) {
      const isValid = !isIndexed(job) || hasValidIndex(job, pod)
      if (isValid && judgeFailure(job, pod).isCounted) failed.add(uid)
    }
    isPartial = newIndexes.size + succeeded.size + failed.size >= MAX_UNCOUNTED
    if (isPartial) break
  }
  const tracked = { ...status, uncountedTerminatedPods: uncounted([...succeeded], [...failed]) }
  return { status: withIndexes(tracked, observation, newIndexes), release, isPartial }
}

function withIndexes(status: JobStatus, observation: Observation, newIndexes: Set<number>): JobStatus {
  const { job, countedIndexes, failedIndexes } = observation
  if (!isIndexed(job)) return status
  const indexes = countedIndexes.union(IndexSet.of(newIndexes))
  return {
    ...status,
    ...count('succeeded', indexes.size),
    completedIndexes: indexes.size > 0 ? indexes.toString() : undefined,
    ...(failedIndexes && { failedIndexes: failedIndexes.toString() }),
  } as JobStatus
}

/** A failed pod whose index waits for a new one stays until that one has taken over the failure count. */
function mayRelease({ job, replaceable }: Observation, pod: Pod, outcome: Outcome | undefined): boolean {
  if (job.metadata.deletionTimestamp || outcome || pod.status?.phase === 'Succeeded') return true
  if (!isFailed(job, pod)) return false
  const index = completionIndex(pod)
  const waiting = hasBackoffLimitPerIndex(job) && index !== undefined ? replaceable.get(index) : undefined
  return waiting?.metadata.uid !== pod.metadata.uid
}

/** Moves noted pods that have no finalizer any more from the list to the counters. */
export function countReleased(status: JobStatus, hasFinalizer: (uid: string) => boolean): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {}
  const keptSucceeded = succeeded.filter(hasFinalizer)
  const keptFailed = failed.filter(hasFinalizer)
  return {
    ...status,
    ...count('succeeded', (status.succeeded ?? 0) + succeeded.length - keptSucceeded.length),
    ...count('failed', (status.failed ?? 0) + failed.length - keptFailed.length),
    uncountedTerminatedPods: uncounted(keptSucceeded, keptFailed),
  } as JobStatus
}

/** A count of nothing is not written down. */
export const count = (field: 'active' | 'succeeded' | 'failed', value: number) => ({
  [field]: value === 0 ? undefined : value,
})

const uncounted = (succeeded: string[], failed: string[]) => ({
  ...(succeeded.length > 0 && { succeeded }),
  ...(failed.length > 0 && { failed }),
})
