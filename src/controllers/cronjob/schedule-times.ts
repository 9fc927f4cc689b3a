import type { CronFields, CronSchedule } from '../../api/kinds/batch/cron-job/schedule.ts'

/** Times are milliseconds since the epoch, always whole minutes (whole seconds for `@every`). */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A schedule without a match for so long (31 February) never has one. */
const HORIZON = 5 * 366 * DAY

interface WallTime {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
}

/**
 * When a schedule is due, by the wall clock of a time zone. A moment is due if the clocks there show a time of the
 * schedule: an hour that is skipped in spring has none, one that comes twice in autumn has two.
 */
export class ScheduleTimes {
  readonly #schedule: CronSchedule
  readonly #format: Intl.DateTimeFormat | undefined

  /** Throws a RangeError if there is no such time zone. */
  constructor(schedule: CronSchedule, timeZone = 'UTC') {
    this.#schedule = schedule
    if (timeZone !== 'UTC' && timeZone !== '')
      this.#format = new Intl.DateTimeFormat('en-US', {
        timeZone,
        hourCycle: 'h23',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
      })
  }

  /** The first due time after a time; undefined if there is none. */
  next(after: number): number | undefined {
    if ('everySeconds' in this.#schedule) return Math.floor(after / 1000) * 1000 + this.#schedule.everySeconds * 1000
    let time = Math.floor(after / MINUTE) * MINUTE + MINUTE
    const end = after + HORIZON
    while (time < end) {
      const wall = this.#wallTime(time)
      const later = this.#firstPossible(time, wall, this.#schedule)
      if (later === time) return time
      time = later
    }
    return undefined
  }

  /** The last due time after `earliest` and not after `now`; undefined if there is none. */
  latest(earliest: number, now: number): number | undefined {
    if ('everySeconds' in this.#schedule) {
      const first = this.next(earliest)!
      const step = this.#schedule.everySeconds * 1000
      return first > now ? undefined : first + Math.floor((now - first) / step) * step
    }
    // Most schedules have a due time not long ago; looking further back only costs where that is not so.
    for (const window of [HOUR, DAY, 32 * DAY, HORIZON]) {
      let last: number | undefined
      const start = Math.max(earliest, now - window)
      for (let time = this.next(start); time !== undefined && time <= now; time = this.next(time)) last = time
      if (last !== undefined || start === earliest) return last
    }
    return undefined
  }

  /** `+01:00`, or `Z`: how far the clocks of the zone are ahead at a time. */
  offset(time: number): string {
    const minutes = this.#offsetMinutes(time)
    if (!this.#format || minutes === 0) return this.#format ? '+00:00' : 'Z'
    const two = (n: number) => String(n).padStart(2, '0')
    const size = Math.abs(minutes)
    return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
  }

  /** RFC 3339 with the offset of the zone. */
  format(time: number): string {
    const local = new Date(time + this.#offsetMinutes(time) * MINUTE).toISOString().slice(0, 19)
    return `${local}${this.offset(time)}`
  }

  #offsetMinutes(time: number): number {
    const { year, month, day, hour, minute } = this.#wallTime(time)
    return Math.round((Date.UTC(year, month - 1, day, hour, minute) - Math.floor(time / MINUTE) * MINUTE) / MINUTE)
  }

  /** The same time if it is due, else the earliest that may be. */
  #firstPossible(time: number, wall: WallTime, fields: CronFields): number {
    if (!has(fields.month.bits, wall.month)) {
      const daysLeft = new Date(Date.UTC(wall.year, wall.month, 0)).getUTCDate() - wall.day
      return this.#nextDay(time + daysLeft * DAY)
    }
    if (!isDay(fields, wall)) return this.#nextDay(time)
    if (!has(fields.hour.bits, wall.hour)) return time + (60 - wall.minute) * MINUTE
    for (let minute = wall.minute; minute < 60; minute++)
      if (has(fields.minute.bits, minute)) return time + (minute - wall.minute) * MINUTE
    return time + (60 - wall.minute) * MINUTE
  }

  /** The start of the next day; not all days have 24 hours, nor all a midnight. */
  #nextDay(time: number): number {
    const before = this.#wallTime(time)
    const there = time + DAY - (before.hour * 60 + before.minute) * MINUTE
    const wall = this.#wallTime(there)
    if (wall.day === before.day) return there
    const start = there - (wall.hour * 60 + wall.minute) * MINUTE
    return this.#wallTime(start).day === wall.day ? start : there
  }

  #wallTime(time: number): WallTime {
    if (!this.#format) {
      const date = new Date(time)
      return {
        year: date.getUTCFullYear(),
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
        hour: date.getUTCHours(),
        minute: date.getUTCMinutes(),
      }
    }
    const wall: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(time)) wall[type] = Number(value)
    return wall as unknown as WallTime
  }
}

const has = (bits: bigint, number: number) => ((bits >> BigInt(number)) & 1n) === 1n

/** If both day fields say something, either will do. */
function isDay({ dayOfMonth, dayOfWeek }: CronFields, { year, month, day }: WallTime): boolean {
  const isDate = has(dayOfMonth.bits, day)
  const isWeekday = has(dayOfWeek.bits, new Date(Date.UTC(year, month - 1, day)).getUTCDay())
  return dayOfMonth.star || dayOfWeek.star ? isDate && isWeekday : isDate || isWeekday
}
