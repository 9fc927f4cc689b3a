import type { CronJob, CronJobSpec, JobSpec } from '../../../generated/batch-v1.ts'
import { type FieldError, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { checkNotNegative } from '../../core/pod/pod-check.ts'
import { validateJobSpec } from '../job/validation.ts'
import { parseCronSchedule } from './schedule.ts'

const SPEC = FieldPath.root('spec')
const CONCURRENCY_POLICIES = ['Allow', 'Forbid', 'Replace']
/** Jobs are named after it with eleven more characters, and must fit in a label. */
const MAX_NAME = 52

export function validateCronJob(cronJob: CronJob): FieldError[] {
  const errors: FieldError[] = []
  const spec = cronJob.spec ?? ({} as CronJobSpec)
  checkName(cronJob, errors)
  if (!spec.schedule) errors.push(required(SPEC.child('schedule')))
  else checkSchedule(spec.schedule, SPEC.child('schedule'), errors)
  checkNotNegative(errors, SPEC, 'startingDeadlineSeconds', spec.startingDeadlineSeconds)
  if (spec.timeZone !== undefined) checkTimeZone(spec.timeZone, SPEC.child('timeZone'), errors)
  const policy = spec.concurrencyPolicy
  if (!policy) errors.push(required(SPEC.child('concurrencyPolicy')))
  else if (!CONCURRENCY_POLICIES.includes(policy))
    errors.push(notSupported(SPEC.child('concurrencyPolicy'), policy, CONCURRENCY_POLICIES))
  checkJobTemplate(spec.jobTemplate?.spec ?? ({} as JobSpec), SPEC.child('jobTemplate', 'spec'), errors)
  checkNotNegative(errors, SPEC, 'successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit)
  checkNotNegative(errors, SPEC, 'failedJobsHistoryLimit', spec.failedJobsHistoryLimit)
  return errors
}

function checkName(cronJob: CronJob, errors: FieldError[]): void {
  const { name = '' } = cronJob.metadata
  if (name.length > MAX_NAME)
    errors.push(invalid(FieldPath.root('metadata').child('name'), name, `must be no more than ${MAX_NAME} characters`))
}

function checkSchedule(schedule: string, path: FieldPath, errors: FieldError[]): void {
  const parsed = parseCronSchedule(schedule)
  if (typeof parsed === 'string') errors.push(invalid(path, schedule, parsed))
  if (schedule.includes('TZ'))
    errors.push(invalid(path, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'))
}

const ZONE_PART = /^[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}$/

function checkTimeZone(zone: string, path: FieldPath, errors: FieldError[]): void {
  if (zone === '') errors.push(invalid(path, zone, 'timeZone must be nil or non-empty string'))
  else if (zone.split('/').some((part) => part === '.' || part === '..' || !ZONE_PART.test(part)))
    errors.push(invalid(path, zone, `unknown time zone ${zone}`))
  else if (zone.toLowerCase() === 'local')
    errors.push(
      invalid(path, zone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'),
    )
  else if (!isKnownZone(zone)) errors.push(invalid(path, zone, `unknown time zone ${zone}`))
}

/** Making a formatter is slow, and few zones are ever used. */
const knownZones = new Map<string, boolean>()
const MAX_KNOWN_ZONES = 1000

function isKnownZone(zone: string): boolean {
  const known = knownZones.get(zone)
  if (known !== undefined) return known
  let exists = true
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone })
  } catch {
    exists = false
  }
  if (knownZones.size < MAX_KNOWN_ZONES) knownZones.set(zone, exists)
  return exists
}

function checkJobTemplate(spec: JobSpec, path: FieldPath, errors: FieldError[]): void {
  validateJobSpec(spec, path, errors)
  if (spec.selector) errors.push(invalid(path.child('selector'), spec.selector, '`selector` will be auto-generated'))
  if (spec.manualSelector) errors.push(notSupported(path.child('manualSelector'), true, ['nil', 'false']))
}
