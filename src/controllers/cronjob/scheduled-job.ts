import type { CronJob, Job } from '../../api/generated/batch-v1.ts'
import { cronJobKind } from '../../api/kinds/batch/cron-job/kind.ts'
import { parseCronSchedule } from '../../api/kinds/batch/cron-job/schedule.ts'
import { parseTime } from '../../api/meta/time.ts'
import { controllerRef } from '../pod-control/owner.ts'
import { ScheduleTimes } from './schedule-times.ts'

const SCHEDULED_TIME = 'batch.kubernetes.io/cronjob-scheduled-timestamp'
const MINUTE = 60_000
/** So many due times in a row nobody misses by accident. */
const MANY = 100

/** What is wrong with a schedule, as an event. */
export interface ScheduleProblem {
  readonly reason: string
  readonly message: string
}

/** The due times of a CronJob, or why it has none. */
export function scheduleOf(cronJob: CronJob): ScheduleTimes | ScheduleProblem {
  const { schedule, timeZone } = cronJob.spec
  const parsed = parseCronSchedule(schedule)
  if (typeof parsed === 'string')
    return { reason: 'UnparseableSchedule', message: `unparseable schedule: ${JSON.stringify(schedule)} : ${parsed}` }
  const zone = /^(?:CRON_)?TZ=(\S*) /.exec(schedule)?.[1] ?? timeZone
  try {
    return new ScheduleTimes(parsed, zone)
  } catch {
    const message = `invalid timeZone: ${JSON.stringify(zone)}: unknown time zone ${zone}`
    return { reason: 'UnknownTimeZone', message }
  }
}

export interface DueTime {
  /** The latest due time that has no job yet. */
  readonly time: number | undefined
  readonly tooMany: boolean
}

/** Of several missed times only the last is made up for. */
export function dueTime(cronJob: CronJob, times: ScheduleTimes, now: number): DueTime {
  const { startingDeadlineSeconds } = cronJob.spec
  const deadline = startingDeadlineSeconds === undefined ? 0 : now - startingDeadlineSeconds * 1000
  const earliest = Math.max(lastSchedule(cronJob), deadline)
  const first = times.next(earliest)
  if (first === undefined || first > now) return { time: undefined, tooMany: false }
  const second = times.next(first)
  const missed = second === undefined ? 1 : Math.floor((now - first) / (second - first)) + 1
  return { time: times.latest(earliest, now), tooMany: missed > MANY }
}

/** When it was last due with effect, or when it was made. */
export function lastSchedule({ status, metadata }: CronJob): number {
  return parseTime(status?.lastScheduleTime ?? metadata.creationTimestamp ?? '') ?? 0
}

/** One due time, one name: whoever tries a second time finds it taken. */
export const jobName = (cronJob: CronJob, time: number) => `${cronJob.metadata.name}-${Math.floor(time / MINUTE)}`

export function scheduledJob(cronJob: CronJob, times: ScheduleTimes, time: number): Job {
  const { metadata = {}, spec } = cronJob.spec.jobTemplate
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(cronJob, time),
      namespace: cronJob.metadata.namespace ?? '',
      labels: { ...metadata.labels },
      annotations: { ...metadata.annotations, [SCHEDULED_TIME]: times.format(time) },
      ownerReferences: [controllerRef(cronJob, cronJobKind)],
    },
    ...(spec && { spec }),
  }
}
