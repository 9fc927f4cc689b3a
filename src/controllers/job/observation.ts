import type { Job } from '../../api/generated/batch-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { isActive, isFinished, isReady, isTerminating } from '../pod-control/pod-state.ts'
import { IndexSet } from './index-set.ts'
import {
  completionIndex,
  failuresOfIndex,
  finishedTime,
  hasBackoffLimitPerIndex,
  hasValidIndex,
  ignoredFailuresOfIndex,
  isFailed,
  isIndexed,
  isTracked,
} from './job-pod.ts'
import { failsItsIndex, judgeFailure } from './policies.ts'

/** What a job and its pods add up to at one moment. */
export interface Observation {
  readonly job: Job
  readonly pods: readonly Pod[]
  readonly active: readonly Pod[]
  readonly ready: number
  readonly terminating: number
  readonly succeeded: number
  readonly failed: number
  /** Ended, and in no count yet. */
  readonly newlySucceeded: readonly Pod[]
  readonly newlyFailed: readonly Pod[]
  readonly countedIndexes: IndexSet
  readonly succeededIndexes: IndexSet
  /** Undefined unless failures are counted by index. */
  readonly failedIndexes: IndexSet | undefined
  /** The last failed pod of each index that waits for a new one: it hands on the index's failure count. */
  readonly replaceable: ReadonlyMap<number, Pod>
  /** Whether a pod still has to be counted. */
  isUncounted(pod: Pod): boolean
}

/** `isReleased` tells of pods whose finalizer was removed although the informer still shows it. */
export function observe(job: Job, pods: readonly Pod[], isReleased: (uid: string) => boolean): Observation {
  const { status = {} } = job
  const uncounted = status.uncountedTerminatedPods ?? {}
  const notedSucceeded = new Set(uncounted.succeeded)
  const notedFailed = new Set(uncounted.failed)
  const isUncounted = (pod: Pod) => isTracked(pod) && !isReleased(pod.metadata.uid ?? '')
  const isNew = (pod: Pod, noted: ReadonlySet<string>) =>
    isUncounted(pod) && !noted.has(pod.metadata.uid ?? '') && (!isIndexed(job) || hasValidIndex(job, pod))
  const active = pods.filter(isActive)
  const newlySucceeded = pods.filter((pod) => pod.status?.phase === 'Succeeded' && isNew(pod, notedSucceeded))
  const newlyFailed = pods.filter((pod) => isFailed(job, pod) && isNew(pod, notedFailed))
  const indexes = observeIndexes(job, pods, active, isUncounted)
  return {
    job,
    pods,
    active,
    ready: active.filter(isReady).length,
    terminating: pods.filter((pod) => isTerminating(pod) && !isFinished(pod)).length,
    succeeded: isIndexed(job)
      ? indexes.succeededIndexes.size
      : (status.succeeded ?? 0) + newlySucceeded.length + notedSucceeded.size,
    failed:
      (status.failed ?? 0) + newlyFailed.filter((pod) => judgeFailure(job, pod).isCounted).length + notedFailed.size,
    newlySucceeded,
    newlyFailed,
    ...indexes,
    isUncounted,
  }
}

type Indexes = Pick<Observation, 'countedIndexes' | 'succeededIndexes' | 'failedIndexes' | 'replaceable'>

const NO_INDEXES: Indexes = {
  countedIndexes: IndexSet.empty,
  succeededIndexes: IndexSet.empty,
  failedIndexes: undefined,
  replaceable: new Map(),
}

function observeIndexes(
  job: Job,
  pods: readonly Pod[],
  active: readonly Pod[],
  isUncounted: (pod: Pod) => boolean,
): Indexes {
  if (!isIndexed(job)) return NO_INDEXES
  const completions = job.spec?.completions ?? 0
  const candidates = pods.filter((pod) => isUncounted(pod) && hasValidIndex(job, pod))
  const countedIndexes = IndexSet.parse(job.status?.completedIndexes, completions)
  const succeeded = candidates.filter((pod) => pod.status?.phase === 'Succeeded')
  const succeededIndexes = countedIndexes.union(indexesOf(succeeded))
  if (!hasBackoffLimitPerIndex(job)) return { ...NO_INDEXES, countedIndexes, succeededIndexes }
  const failedIndexes = IndexSet.parse(job.status?.failedIndexes, completions).union(
    indexesOf(candidates.filter((pod) => failsItsIndex(job, pod))),
  )
  const settled = succeededIndexes.union(failedIndexes).union(indexesOf(active))
  const replaceable = new Map<number, Pod>()
  for (const pod of candidates) {
    const index = completionIndex(pod)!
    if (!isFailed(job, pod) || settled.has(index)) continue
    const other = replaceable.get(index)
    if (!other || isLater(pod, other)) replaceable.set(index, pod)
  }
  return { countedIndexes, succeededIndexes, failedIndexes, replaceable }
}

export function indexesOf(pods: readonly Pod[]): IndexSet {
  return IndexSet.of(pods.map(completionIndex).filter((index) => index !== undefined))
}

function isLater(pod: Pod, other: Pod): boolean {
  const failures = (one: Pod) => failuresOfIndex(one) + ignoredFailuresOfIndex(one)
  return failures(pod) >= failures(other) && finishedTime(pod) >= finishedTime(other)
}
