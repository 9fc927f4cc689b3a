import assert from 'node:assert'
import { parseCronSchedule } from '../../../src/api/kinds/batch/cron-job/schedule.ts'
import { ScheduleTimes } from '../../../src/controllers/cronjob/schedule-times.ts'
import type { FuzzTarget } from '../engine/target.ts'

const NOW = Date.UTC(2026, 1, 27, 23, 59, 30)

/** Schedules of CronJobs, and the search for their next time. */
export const target: FuzzTarget = {
  steps: { fixed: 100_000, perByte: 200 },
  maxBytes: 256,
  dictionary: [
    '* ',
    '*/',
    '-',
    ',',
    '0 ',
    '31 2 *',
    'L',
    '?',
    'JAN',
    'sun',
    '@every 1h',
    '@daily',
    'TZ=UTC ',
    '9999999999',
  ],
  run(input) {
    const schedule = parseCronSchedule(input.toString())
    if (typeof schedule === 'string') return schedule
    const next = new ScheduleTimes(schedule).next(NOW)
    if (next !== undefined) assert(next > NOW && Number.isSafeInteger(next), `${next} is not after now`)
    return next
  },
}
