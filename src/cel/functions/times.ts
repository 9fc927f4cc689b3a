import type { Functions } from '../library.ts'
import { CelError, type Duration, type Timestamp } from '../values.ts'

type Part = (date: Date) => number

/** The moment as a date whose UTC parts are those of the time zone. */
function inZone({ nanos }: Timestamp, zone = 'UTC'): Date {
  const milliseconds = Number(nanos / 1_000_000n)
  const fixed = /^([-+]?)(\d{2}):(\d{2})$/.exec(zone)
  if (fixed) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3])
    return new Date(milliseconds + (fixed[1] === '-' ? -minutes : minutes) * 60_000)
  }
  if (zone === 'UTC') return new Date(milliseconds)
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    const offset = /GMT(?:([-+])(\d{2}):(\d{2}))?/.exec(format.format(milliseconds))
    const minutes = Number(offset?.[2] ?? 0) * 60 + Number(offset?.[3] ?? 0)
    return new Date(milliseconds + (offset?.[1] === '-' ? -minutes : minutes) * 60_000)
  } catch {
    throw new CelError(`unknown time zone ${zone}`)
  }
}

const DAY_MS = 86_400_000
const dayOfYear: Part = (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / DAY_MS)

const PARTS: Readonly<Record<string, Part>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: dayOfYear,
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
}

const dateParts: Functions = Object.fromEntries(
  Object.entries(PARTS).flatMap(([name, part]) => [
    [`timestamp.${name}(): int`, (time: Timestamp) => BigInt(part(inZone(time)))],
    [`timestamp.${name}(string): int`, (time: Timestamp, zone: string) => BigInt(part(inZone(time, zone)))],
  ]),
)

const inUnits = (nanos: bigint) => (duration: Duration) => duration.nanos / nanos

export const times: Functions = {
  ...dateParts,
  'duration.getHours(): int': inUnits(3_600_000_000_000n),
  'duration.getMinutes(): int': inUnits(60_000_000_000n),
  'duration.getSeconds(): int': inUnits(1_000_000_000n),
  'duration.getMilliseconds(): int': ({ nanos }: Duration) => (nanos % 1_000_000_000n) / 1_000_000n,
}
