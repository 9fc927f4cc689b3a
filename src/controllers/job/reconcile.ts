import type { Job, JobStatus } from '../../api/generated/batch-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { formatTime } from '../../api/meta/time.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { ControllerContext, ReconcileResult } from '../controller.ts'
import { isNamespaceTerminating, type PodControl } from '../pod-control/pod-control.ts'
import { isReady } from '../pod-control/pod-state.ts'
import { allOrFirstError, slowStart } from '../pod-control/slow-start.ts'
import { type Backoff, nextBackoff } from './backoff.ts'
import { isSuspended } from './job-pod.ts'
import { type Observation, observe } from './observation.ts'
import { COMPLETIONS_REACHED, deadlineIn, type Outcome, outcomeOf, withJobCondition } from './outcome.ts'
import { planPods } from './pod-plan.ts'
import { jobPod } from './pod-template.ts'
import { count, countReleased, track } from './tracking.ts'

/** What one pass over a job works with. */
export interface JobPass {
  readonly context: Pick<ControllerContext, 'clock' | 'events'>
  readonly job: Job
  readonly pods: readonly Pod[]
  readonly podControl: PodControl
  /** The informer shows all pods that were made or deleted before. */
  readonly isUpToDate: boolean
  readonly backoff: Backoff
  setBackoff(backoff: Backoff): void
  isReleased(uid: string): boolean
  /** Takes the tracking finalizer off. True if it is off. */
  release(pod: Pod): Promise<boolean>
  writeStatus(job: Job, status: JobStatus): Promise<Job>
}

/** Figures that pods made or deleted in this pass have changed already. */
interface Figures {
  active: number
  ready: number
  terminating: number
}

export async function reconcileJob(pass: JobPass): Promise<ReconcileResult | void> {
  const { clock } = pass.context
  const now = clock.now()
  const job = started(pass.job, now)
  const observation = observe(job, pass.pods, pass.isReleased)
  const backoff = nextBackoff(pass.backoff, observation.newlySucceeded, observation.newlyFailed)
  const figures: Figures = {
    active: observation.active.length,
    ready: observation.ready,
    terminating: observation.terminating,
  }
  let status: JobStatus = { ...job.status, uncountedTerminatedPods: job.status?.uncountedTerminatedPods ?? {} }
  let outcome = outcomeOf(observation, now)
  const waits = [outcome ? undefined : deadlineIn(job, now)]
  let failure: unknown
  if (outcome) {
    failure = await removePods(pass, observation.active, figures, false)
    // Pods that are still to be seen would be left behind by a finished job.
    if (failure !== undefined || !pass.isUpToDate) outcome = undefined
  } else {
    if (pass.isUpToDate && !job.metadata.deletionTimestamp) {
      const managed = await managePods(pass, observation, backoff, figures)
      failure = managed.error
      waits.push(managed.wait)
      if (!isComplete(observation, figures.active)) status = withSuspension(pass, status, now)
    }
    if (isComplete(observation, figures.active)) outcome = COMPLETIONS_REACHED
  }
  status = { ...status, ...count('active', figures.active), ready: figures.ready, terminating: figures.terminating }
  await trackPods(pass, observation, status, outcome, () => pass.setBackoff(backoff))
  if (failure !== undefined) throw failure
  const delays = waits.filter((wait) => wait !== undefined)
  return delays.length > 0 ? { retryAfter: Math.min(...delays) } : undefined
}

/** A job starts when it is first seen unsuspended. */
function started(job: Job, now: number): Job {
  if (job.status?.startTime !== undefined || isSuspended(job)) return job
  return { ...job, status: { ...job.status, startTime: formatTime(now) } }
}

function isComplete({ job, succeeded }: Observation, active: number): boolean {
  const { completions } = job.spec ?? {}
  return active === 0 && (completions === undefined ? succeeded > 0 : succeeded >= completions)
}

async function managePods(
  pass: JobPass,
  observation: Observation,
  backoff: Backoff,
  figures: Figures,
): Promise<{ error?: unknown; wait?: number }> {
  const plan = planPods(observation, backoff, pass.context.clock.now())
  const wait = plan.wait === undefined ? {} : { wait: plan.wait }
  if (plan.remove.length > 0) return { error: await removePods(pass, plan.remove, figures, true), ...wait }
  const { job } = observation
  const { successes, error } = await slowStart(plan.create.length, async (i) => {
    const index = plan.create[i]
    const replaced = index === undefined ? undefined : observation.replaceable.get(index)
    await pass.podControl.create(job, jobPod(job, index, replaced))
  })
  figures.active += successes
  return { error: isNamespaceTerminating(error) ? undefined : error, ...wait }
}

/** Deletes pods; those that nobody asked to end (`isForgotten`) lose their finalizer first and are not counted. */
async function removePods(
  pass: JobPass,
  pods: readonly Pod[],
  figures: Figures,
  isForgotten: boolean,
): Promise<unknown> {
  const removals = pods.map(async (pod) => {
    if (isForgotten) await pass.release(pod)
    await pass.podControl.delete(pass.job, pod)
    figures.active--
    figures.terminating++
    if (isReady(pod)) figures.ready--
  })
  return await allOrFirstError(removals).then(
    () => undefined,
    (error: unknown) => error,
  )
}

function withSuspension({ context, job }: JobPass, status: JobStatus, now: number): JobStatus {
  const suspended = isSuspended(job)
  const [reason, message, event] = suspended
    ? ['JobSuspended', 'Job suspended', 'Suspended']
    : ['JobResumed', 'Job resumed', 'Resumed']
  const conditions = withJobCondition(
    status.conditions,
    'Suspended',
    { reason, message },
    now,
    suspended ? 'True' : 'False',
  )
  if (deepEqual(conditions, status.conditions ?? [])) return status
  context.events.event(job, 'Normal', event, message)
  // A resumed job starts anew: its deadline does not count the time it was suspended.
  const { startTime: _, ...rest } = status
  return suspended ? { ...rest, conditions } : { ...rest, conditions, startTime: formatTime(now) }
}

async function trackPods(
  pass: JobPass,
  observation: Observation,
  before: JobStatus,
  outcome: Outcome | undefined,
  noted: () => void,
): Promise<void> {
  const now = pass.context.clock.now()
  const tracked = new Set(observation.pods.filter(observation.isUncounted).map(({ metadata }) => metadata.uid ?? ''))
  const { status, release, isPartial } = track(
    observation,
    countReleased(before, (uid) => tracked.has(uid)),
    outcome,
  )
  let { job } = pass
  let next = outcome
    ? {
        ...status,
        conditions: withJobCondition(
          status.conditions,
          outcome.isSuccess ? 'SuccessCriteriaMet' : 'FailureTarget',
          outcome,
          now,
        ),
      }
    : status
  const flush = async () => {
    if (!deepEqual(job.status ?? {}, next)) job = await pass.writeStatus(job, next)
  }
  await flush()
  noted()
  const releases = await Promise.allSettled(release.map((pod) => pass.release(pod)))
  for (const [i, result] of releases.entries())
    if (result.status === 'fulfilled') tracked.delete(release[i]!.metadata.uid ?? '')
  next = countReleased(next, (uid) => tracked.has(uid))
  const failed = releases.find((result) => result.status === 'rejected')
  const isFinal = outcome && !failed && !isPartial && isSettled(next)
  if (isFinal) next = finished(next, outcome, now)
  await flush()
  if (isFinal) tellFinished(pass, next, outcome)
  if (failed) throw failed.reason
}

/** Nothing is left that could still change the figures. */
function isSettled({ uncountedTerminatedPods = {}, terminating = 0 }: JobStatus): boolean {
  const { succeeded = [], failed = [] } = uncountedTerminatedPods
  return succeeded.length + failed.length + terminating === 0
}

function finished(status: JobStatus, outcome: Outcome, now: number): JobStatus {
  const type = outcome.isSuccess ? 'Complete' : 'Failed'
  const conditions = withJobCondition(status.conditions, type, outcome, now)
  return { ...status, conditions, ...(outcome.isSuccess && { completionTime: formatTime(now) }) }
}

function tellFinished({ context, job }: JobPass, status: JobStatus, outcome: Outcome): void {
  const { events } = context
  const { completions } = job.spec ?? {}
  if (!outcome.isSuccess) events.event(job, 'Warning', outcome.reason, outcome.message)
  else {
    if (completions !== undefined && (status.succeeded ?? 0) > completions)
      events.event(
        job,
        'Warning',
        'TooManySucceededPods',
        'Too many succeeded pods running after completion count reached',
      )
    events.event(job, 'Normal', 'Completed', 'Job completed')
  }
}
