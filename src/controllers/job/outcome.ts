import type { Job, JobCondition } from '../../api/generated/batch-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { formatTime, parseTime } from '../../api/meta/time.ts'
import { isFailed, isSuspended } from './job-pod.ts'
import type { Observation } from './observation.ts'
import { judgeFailure, successPolicyMatch } from './policies.ts'

/** How a job ends. It is written down first (SuccessCriteriaMet, FailureTarget), and final when its pods are gone. */
export interface Outcome {
  readonly isSuccess: boolean
  readonly reason: string
  readonly message: string
}

const failure = (reason: string, message: string): Outcome => ({ isSuccess: false, reason, message })

export const COMPLETIONS_REACHED: Outcome = {
  isSuccess: true,
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
}

export const isJobFinished = (job: Job) =>
  job.status?.conditions?.some(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True') ??
  false

/** What was decided before stays so; of several reasons the first counts. */
export function outcomeOf(observation: Observation, now: number): Outcome | undefined {
  const { job, pods, failed } = observation
  return (
    decided(job, 'SuccessCriteriaMet') ??
    decided(job, 'FailureTarget') ??
    policyFailure(job, pods) ??
    (failed > (job.spec?.backoffLimit ?? 0) || pastLimitByRestarts(job, pods)
      ? failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
      : undefined) ??
    (deadlineIn(job, now) === 0
      ? failure('DeadlineExceeded', 'Job was active longer than specified deadline')
      : undefined) ??
    indexesOutcome(observation)
  )
}

function decided(job: Job, type: 'SuccessCriteriaMet' | 'FailureTarget'): Outcome | undefined {
  const condition = findCondition(job.status?.conditions, type)
  if (condition?.status !== 'True') return undefined
  const { reason = '', message = '' } = condition
  return { isSuccess: type === 'SuccessCriteriaMet', reason, message }
}

function policyFailure(job: Job, pods: readonly Pod[]): Outcome | undefined {
  if (!job.spec?.podFailurePolicy) return undefined
  for (const pod of pods) {
    const message = isFailed(job, pod) ? judgeFailure(job, pod).jobFailure : undefined
    if (message !== undefined) return failure('PodFailurePolicy', message)
  }
  return undefined
}

/** Containers that are restarted in place do not fail their pod; their restarts count instead. */
function pastLimitByRestarts(job: Job, pods: readonly Pod[]): boolean {
  const { backoffLimit = 0, template } = job.spec ?? {}
  if (template?.spec?.restartPolicy !== 'OnFailure') return false
  let restarts = 0
  for (const { status } of pods) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue
    for (const { restartCount } of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
      restarts += restartCount
  }
  return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit
}

/** Milliseconds until the active deadline; undefined if there is none. A suspended job's clock stands still. */
export function deadlineIn(job: Job, now: number): number | undefined {
  const { activeDeadlineSeconds } = job.spec ?? {}
  const start = parseTime(job.status?.startTime ?? '')
  if (activeDeadlineSeconds === undefined || start === undefined || isSuspended(job)) return undefined
  return Math.max(0, start + activeDeadlineSeconds * 1000 - now)
}

function indexesOutcome({ job, failedIndexes, succeededIndexes }: Observation): Outcome | undefined {
  const { maxFailedIndexes, completions = 0 } = job.spec ?? {}
  const failed = failedIndexes?.size ?? 0
  if (maxFailedIndexes !== undefined && failed > maxFailedIndexes)
    return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes')
  if (failed > 0 && failed + succeededIndexes.size >= completions)
    return failure('FailedIndexes', 'Job has failed indexes')
  const message = successPolicyMatch(job, succeededIndexes)
  return message === undefined ? undefined : { isSuccess: true, reason: 'SuccessPolicy', message }
}

export function withJobCondition(
  conditions: readonly JobCondition[] | undefined,
  type: string,
  { reason, message }: Pick<Outcome, 'reason' | 'message'>,
  now: number,
  status: 'True' | 'False' = 'True',
): JobCondition[] {
  const list = [...(conditions ?? [])]
  const index = list.findIndex((condition) => condition.type === type)
  const known = list[index]
  // From nothing to false is no change.
  if (known ? known.status === status && known.reason === reason && known.message === message : status === 'False')
    return list
  const time = formatTime(now)
  const condition = { type, status, lastProbeTime: time, lastTransitionTime: time, reason, message }
  return known ? list.with(index, condition) : [...list, condition]
}
