import { describe, expect, it } from 'vitest'
import { type CronSchedule, parseCronSchedule } from '../../api/kinds/batch/cron-job/schedule.ts'
import { ScheduleTimes } from './schedule-times.ts'

const times = (schedule: string, zone?: string) => new ScheduleTimes(parseCronSchedule(schedule) as CronSchedule, zone)
const at = (text: string) => Date.parse(text)

describe('next', () => {
  it.each<[string, string | undefined, string, string]>([
    ['* * * * *', undefined, '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'],
    ['* * * * *', undefined, '2026-01-01T00:00:59Z', '2026-01-01T00:01:00Z'],
    ['*/15 * * * *', undefined, '2026-01-01T00:45:00Z', '2026-01-01T01:00:00Z'],
    ['30 6-16/4 * * 1-5', undefined, '2026-01-02T14:30:00Z', '2026-01-05T06:30:00Z'],
    ['0 0 29 2 *', undefined, '2026-01-01T00:00:00Z', '2028-02-29T00:00:00Z'],
    ['0 0 13 * 5', undefined, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
    ['@monthly', undefined, '2026-01-31T23:59:59Z', '2026-02-01T00:00:00Z'],
    ['@every 1h30m', undefined, '2026-01-01T00:00:10Z', '2026-01-01T01:30:10Z'],
    ['0 9 * * *', 'Europe/Berlin', '2026-01-01T08:00:00Z', '2026-01-02T08:00:00Z'],
    ['0 9 * * *', 'America/New_York', '2026-07-01T00:00:00Z', '2026-07-01T13:00:00Z'],
    ['15 0 * * *', 'Asia/Kolkata', '2026-01-01T00:00:00Z', '2026-01-01T18:45:00Z'],
    // Clocks go from 2 to 3: there is no 2:30 on that day.
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-30T00:30:00Z'],
    ['0 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', '2026-03-29T01:00:00Z'],
    // Clocks go from 3 back to 2: 2:30 comes twice.
    ['30 2 * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-25T00:30:00Z'],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'],
    // Midnight is skipped.
    ['0 0 * * *', 'America/Asuncion', '2024-10-05T12:00:00Z', '2024-10-07T03:00:00Z'],
    ['0 1 * * *', 'America/Asuncion', '2024-10-05T12:00:00Z', '2024-10-06T04:00:00Z'],
  ])('%s in %s after %s', (schedule, zone, after, expected) => {
    expect(new Date(times(schedule, zone).next(at(after))!).toISOString()).toBe(expected.replace('Z', '.000Z'))
  })

  it('never comes on the 31st of February', () => {
    expect(times('59 23 31 2 *').next(at('2026-01-01T00:00:00Z'))).toBe(undefined)
  })
})

describe('latest', () => {
  it.each<[string, string, string, string | undefined]>([
    ['*/10 * * * *', '2026-01-01T00:00:00Z', '2026-01-01T05:15:00Z', '2026-01-01T05:10:00Z'],
    ['0 0 1 * *', '2026-01-01T00:00:00Z', '2026-03-15T00:00:00Z', '2026-03-01T00:00:00Z'],
    ['0 0 1 1 *', '2020-01-01T00:00:00Z', '2026-03-15T00:00:00Z', '2026-01-01T00:00:00Z'],
    ['0 12 * * *', '2026-01-01T13:00:00Z', '2026-01-01T14:00:00Z', undefined],
    ['@every 7m', '2026-01-01T00:00:00Z', '2026-01-01T00:20:00Z', '2026-01-01T00:14:00Z'],
  ])('%s between %s and %s', (schedule, earliest, now, expected) => {
    expect(times(schedule).latest(at(earliest), at(now))).toBe(expected && at(expected))
  })
})

it.each([
  [undefined, '2026-07-01T12:00:00Z'],
  ['Europe/Berlin', '2026-07-01T14:00:00+02:00'],
  ['America/St_Johns', '2026-07-01T09:30:00-02:30'],
])('is written in %s', (zone, expected) => {
  expect(times('* * * * *', zone).format(at('2026-07-01T12:00:00Z'))).toBe(expected)
})
