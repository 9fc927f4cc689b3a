import type { CronJob, CronJobStatus, Job } from '../../api/generated/batch-v1.ts'
import { jobKind } from '../../api/kinds/batch/job/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { findCondition, isConditionTrue } from '../../api/meta/conditions.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { ResourceClient } from '../../client/client.ts'
import type { ControllerContext } from '../controller.ts'
import { isJobFinished } from '../job/outcome.ts'
import { isControlledBy } from '../pod-control/owner.ts'
import { isNamespaceTerminating, messageOf } from '../pod-control/pod-control.ts'
import type { ScheduleTimes } from './schedule-times.ts'
import { dueTime, jobName, lastSchedule, scheduledJob, scheduleOf } from './scheduled-job.ts'

/** Timers and clocks are not exact: looking a moment later than due is looking once. */
const PADDING = 100

/** One look at a CronJob and its jobs. Its status is kept in `status` until the caller writes it. */
export class CronJobPass {
  status: CronJobStatus
  readonly #context: ControllerContext
  readonly #cronJob: CronJob
  readonly #jobs: readonly Job[]
  readonly #client: ResourceClient<Job>

  constructor(context: ControllerContext, cronJob: CronJob, jobs: readonly Job[]) {
    this.#context = context
    this.#cronJob = cronJob
    this.#jobs = jobs
    this.#client = context.client.resource(jobKind).namespace(cronJob.metadata.namespace ?? '')
    this.status = { ...cronJob.status, active: cronJob.status?.active ?? [] }
  }

  /** Milliseconds until it is due again, if ever. */
  async run(): Promise<number | undefined> {
    this.#noteFinished()
    await this.#forgetMissing()
    await this.#cleanUp()
    const { metadata, spec } = this.#cronJob
    if (metadata.deletionTimestamp || spec.suspend) return undefined
    const times = scheduleOf(this.#cronJob)
    if ('reason' in times) {
      this.#tell('Warning', times.reason, times.message)
      return undefined
    }
    const { schedule } = spec
    if (schedule.includes('TZ'))
      this.#tell(
        'Warning',
        'UnsupportedSchedule',
        `CRON_TZ or TZ used in schedule ${JSON.stringify(schedule)} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details`,
      )
    const now = this.#context.clock.now()
    if (times.next(now) === undefined) {
      const why = 'time difference between two schedules is less than 1 second'
      this.#tell('Warning', 'InvalidSchedule', `invalid schedule: ${schedule} : ${why}`)
      return undefined
    }
    await this.#startIfDue(times, now)
    const last = lastSchedule({ ...this.#cronJob, status: this.status })
    const next = times.next(times.latest(last, now) ?? last)
    return next === undefined ? undefined : next + PADDING - now
  }

  #tell(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.events.event(this.#cronJob, type, reason, message)
  }

  #noteFinished(): void {
    for (const job of this.#jobs) {
      const { name, uid = '' } = job.metadata
      const isKnown = this.#isActive(uid)
      if (!isJobFinished(job)) {
        if (!isKnown)
          this.#tell('Warning', 'UnexpectedJob', `Saw a job that the controller did not create or forgot: ${name}`)
        continue
      }
      if (isKnown) {
        this.#removeActive(uid)
        this.#tell('Normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${finishedCondition(job)}`)
      }
      const { completionTime } = job.status ?? {}
      const { lastSuccessfulTime } = this.status
      if (finishedCondition(job) === 'Complete' && completionTime && completionTime > (lastSuccessfulTime ?? ''))
        this.status = { ...this.status, lastSuccessfulTime: completionTime }
    }
  }

  /** The informer may be behind; only the server knows that a job is gone. */
  async #forgetMissing(): Promise<void> {
    const shown = new Set(this.#jobs.map(({ metadata }) => metadata.uid))
    for (const { name = '', uid = '' } of this.status.active ?? []) {
      if (shown.has(uid) || (await this.#get(name))) continue
      this.#tell('Normal', 'MissingJob', `Active job went missing: ${name}`)
      this.#removeActive(uid)
    }
  }

  async #get(name: string): Promise<Job | undefined> {
    try {
      return await this.#client.get(name)
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return undefined
      throw error
    }
  }

  /** Keeps as many finished jobs as the history limits allow, the latest. */
  async #cleanUp(): Promise<void> {
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = this.#cronJob.spec
    const keep = async (condition: 'Complete' | 'Failed', limit: number | undefined) => {
      if (limit === undefined) return
      const jobs = this.#jobs.filter((job) => finishedCondition(job) === condition).sort(byStartTime)
      for (const job of jobs.slice(0, Math.max(0, jobs.length - limit))) await this.#delete(job)
    }
    await keep('Complete', successfulJobsHistoryLimit)
    await keep('Failed', failedJobsHistoryLimit)
  }

  async #delete({ metadata }: Pick<Job, 'metadata'>): Promise<void> {
    const { name = '', uid = '' } = metadata
    try {
      await this.#client.delete(name, { propagationPolicy: 'Background', preconditions: { uid } })
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return
      this.#tell('Warning', 'FailedDelete', `Deleted job: ${messageOf(error)}`)
      throw error
    }
    this.#removeActive(uid)
    this.#tell('Normal', 'SuccessfulDelete', `Deleted job ${name}`)
  }

  async #startIfDue(times: ScheduleTimes, now: number): Promise<void> {
    const { time, tooMany } = dueTime(this.#cronJob, times, now)
    if (time === undefined) return
    if (tooMany)
      this.#tell(
        'Warning',
        'TooManyMissedTimes',
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
      )
    const { startingDeadlineSeconds, concurrencyPolicy } = this.#cronJob.spec
    if (startingDeadlineSeconds !== undefined && time + startingDeadlineSeconds * 1000 < now) {
      this.#tell('Warning', 'MissSchedule', `Missed scheduled time to start a job: ${rfc1123(time)}`)
      return
    }
    const active = this.status.active ?? []
    const isStarted = active.some(({ name }) => name === jobName(this.#cronJob, time))
    if (isStarted || this.status.lastScheduleTime === formatTime(time)) return
    if (concurrencyPolicy === 'Forbid' && active.length > 0) {
      const why = 'Not starting job because prior execution is running and concurrency policy is Forbid'
      this.#tell('Normal', 'JobAlreadyActive', why)
      return
    }
    if (concurrencyPolicy === 'Replace')
      for (const { name, uid } of active)
        await this.#delete({ metadata: { ...(name && { name }), ...(uid && { uid }) } })
    await this.#start(scheduledJob(this.#cronJob, times, time), time)
  }

  async #start(wanted: Job, time: number): Promise<void> {
    const job = await this.#create(wanted)
    if (!job) return
    const { name, namespace, uid, resourceVersion } = job.metadata
    const reference = { kind: 'Job', apiVersion: 'batch/v1', namespace, name, uid, resourceVersion }
    const active =
      isJobFinished(job) || this.#isActive(uid ?? '') ? this.status.active! : [...this.status.active!, reference]
    this.status = { ...this.status, active, lastScheduleTime: formatTime(time) } as CronJobStatus
  }

  /** If the job is there already, it was made before a crash, and all there is left to do is to note it. */
  async #create(wanted: Job): Promise<Job | undefined> {
    try {
      const job = await this.#client.create(wanted)
      this.#tell('Normal', 'SuccessfulCreate', `Created job ${job.metadata.name}`)
      return job
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined
      if (error instanceof ApiError && error.reason === 'AlreadyExists') {
        const job = await this.#get(wanted.metadata.name ?? '')
        return job && isControlledBy(job, this.#cronJob) ? job : undefined
      }
      this.#tell('Warning', 'FailedCreate', `Error creating job: ${messageOf(error)}`)
      throw error
    }
  }

  #isActive(uid: string): boolean {
    return this.status.active?.some((reference) => reference.uid === uid) ?? false
  }

  #removeActive(uid: string): void {
    this.status = { ...this.status, active: (this.status.active ?? []).filter((reference) => reference.uid !== uid) }
  }
}

function finishedCondition({ status }: Job): 'Complete' | 'Failed' | undefined {
  if (isConditionTrue(status?.conditions, 'Complete')) return 'Complete'
  return findCondition(status?.conditions, 'Failed')?.status === 'True' ? 'Failed' : undefined
}

function byStartTime(a: Job, b: Job): number {
  const [left, right] = [a, b].map((job) => `${job.status?.startTime ?? '~'} ${job.metadata.name}`)
  return left! < right! ? -1 : 1
}

/** `Mon, 02 Jan 2006 15:04:05 +0000` */
const rfc1123 = (time: number) => new Date(time).toUTCString().replace('GMT', '+0000')
