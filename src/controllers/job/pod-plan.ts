import type { Pod } from '../../api/generated/core-v1.ts'
import { deletionOrder } from '../pod-control/deletion-order.ts'
import { isTerminating } from '../pod-control/pod-state.ts'
import { type Backoff, remainingTime, remainingTimeOfIndex } from './backoff.ts'
import {
  completionIndex,
  hasBackoffLimitPerIndex,
  hasValidIndex,
  isIndexed,
  isSuspended,
  replacesFailedOnly,
} from './job-pod.ts'
import { indexesOf, type Observation } from './observation.ts'

/** So many pods at most are made or deleted at a time, so that one large job does not hold up the others. */
const MAX_PER_SYNC = 500

/** What to do about a job's pods now: never both deletions and creations. */
export interface PodPlan {
  readonly remove: readonly Pod[]
  /** One entry per new pod: its index, if the job has indexes. */
  readonly create: readonly (number | undefined)[]
  /** Milliseconds until more pods may be made. */
  readonly wait?: number
}

export function planPods(observation: Observation, backoff: Backoff, now: number): PodPlan {
  const { job, active, terminating } = observation
  if (isSuspended(job)) return { remove: active, create: [] }
  const wanted = wantedActive(observation)
  const remove = surplus(observation, Math.max(0, active.length - wanted), now)
  if (remove.length > 0) return { remove: remove.slice(0, MAX_PER_SYNC), create: [] }
  const missing = wanted - active.length - (replacesFailedOnly(job) ? terminating : 0)
  return missing > 0 ? planCreation(observation, Math.min(missing, MAX_PER_SYNC), backoff, now) : { remove, create: [] }
}

function wantedActive({ job, active, succeeded }: Observation): number {
  const { parallelism = 1, completions } = job.spec ?? {}
  // A work queue: once one pod has succeeded the queue is empty, and the others are left to end.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism
  return Math.max(0, Math.min(parallelism, completions - succeeded))
}

function planCreation(observation: Observation, count: number, backoff: Backoff, now: number): PodPlan {
  const { job } = observation
  const perIndex = hasBackoffLimitPerIndex(job)
  const wait = perIndex ? 0 : remainingTime(backoff, now)
  if (wait > 0) return { remove: [], create: [], wait }
  if (!isIndexed(job)) return { remove: [], create: Array.from({ length: count }, () => undefined) }
  const indexes = pendingIndexes(observation).slice(0, count)
  if (!perIndex) return { remove: [], create: indexes }
  const waits = indexes.map((index) => remainingTimeOfIndex(observation.replaceable.get(index), now))
  const create = indexes.filter((_, i) => waits[i] === 0)
  const later = waits.filter((time) => time > 0)
  return { remove: [], create, ...(later.length > 0 && { wait: Math.min(...later) }) }

  function pendingIndexes({ pods, active, succeededIndexes, failedIndexes }: Observation): number[] {
    let taken = succeededIndexes.union(indexesOf(active))
    if (replacesFailedOnly(job)) taken = taken.union(indexesOf(pods.filter(isTerminating)))
    if (failedIndexes) taken = taken.union(failedIndexes)
    return taken.missing(count, job.spec?.completions ?? 0)
  }
}

/** Pods of an index that runs twice or does not exist, then as many more as there are too many. */
function surplus({ job, active }: Observation, atLeast: number, now: number): Pod[] {
  const remove: Pod[] = []
  let rest: readonly Pod[] = active
  if (isIndexed(job)) {
    remove.push(...active.filter((pod) => !hasValidIndex(job, pod)))
    const valid = deletionOrder(
      active.filter((pod) => hasValidIndex(job, pod)),
      active,
      now,
    )
    const last = new Map(valid.map((pod) => [completionIndex(pod), pod]))
    remove.push(...valid.filter((pod) => last.get(completionIndex(pod)) !== pod))
    rest = [...last.values()]
  }
  const more = atLeast - remove.length
  return more > 0 ? [...remove, ...deletionOrder(rest, rest, now).slice(0, more)] : remove
}
