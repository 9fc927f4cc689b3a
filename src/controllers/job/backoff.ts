import type { Pod } from '../../api/generated/core-v1.ts'
import { failuresOfIndex, finishedTime, ignoredFailuresOfIndex } from './job-pod.ts'

const BASE = 10_000
const MAXIMUM = 600_000

/** Failures in a row of a job's pods; each doubles the wait for the next pod. */
export interface Backoff {
  readonly failures: number
  readonly lastFailure: number
}

export const NO_BACKOFF: Backoff = { failures: 0, lastFailure: 0 }

/** A success ends the row; of the failures only those after the last success remain. */
export function nextBackoff(before: Backoff, succeeded: readonly Pod[], failed: readonly Pod[]): Backoff {
  const failures = failed.map(finishedTime)
  if (succeeded.length === 0) {
    if (failures.length === 0) return before
    return { failures: before.failures + failures.length, lastFailure: Math.max(...failures) }
  }
  const lastSuccess = Math.max(...succeeded.map(finishedTime))
  const later = failures.filter((time) => time > lastSuccess)
  return later.length === 0 ? NO_BACKOFF : { failures: later.length, lastFailure: Math.max(...later) }
}

/** Milliseconds until the next pod may be made. */
export function remainingTime({ failures, lastFailure }: Backoff, now: number): number {
  if (failures === 0) return 0
  const wait = Math.min(BASE * 2 ** (failures - 1), MAXIMUM)
  return Math.max(0, lastFailure + wait - now)
}

/** The same for one index, whose failed pods carry the count. */
export function remainingTimeOfIndex(lastFailed: Pod | undefined, now: number): number {
  if (!lastFailed) return 0
  const failures = failuresOfIndex(lastFailed) + ignoredFailuresOfIndex(lastFailed) + 1
  return remainingTime({ failures, lastFailure: finishedTime(lastFailed) }, now)
}
