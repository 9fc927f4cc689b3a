import { parseTime } from '../api/meta/time.ts'
import { Timestamp } from './values.ts'

const UNITS: Readonly<Record<string, bigint>> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1000n,
  µs: 1000n,
  ns: 1n,
}

const DURATION = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|ns))+$/
const DURATION_PART = /(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)/g
/** Digits beyond this stand for less than a nanosecond or more than 290 years. */
const MAX_DURATION = 1024

/** Parses `1h30m` or `-1.5s` to nanoseconds. */
export function parseDuration(text: string): bigint | undefined {
  const [, sign = '', body = ''] = /^([-+]?)(.*)$/s.exec(text) ?? []
  if (body === '0') return 0n
  if (body.length > MAX_DURATION || !DURATION.test(body)) return undefined
  let nanos = 0n
  for (const [, digits = '', unit = ''] of body.matchAll(DURATION_PART)) {
    const [integer = '', fraction = ''] = digits.split('.')
    const size = UNITS[unit]!
    nanos += BigInt(integer || '0') * size
    if (fraction) nanos += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length)
  }
  return BigInt.asIntN(64, nanos) === nanos ? (sign === '-' ? -nanos : nanos) : undefined
}

/** Parses RFC 3339 with up to nine digits of a second. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const milliseconds = parseTime(text)
  if (milliseconds === undefined) return undefined
  const fraction = /\.(\d{1,9})/.exec(text)?.[1] ?? ''
  const below = BigInt(fraction.padEnd(9, '0').slice(3) || '0')
  return new Timestamp(BigInt(Math.floor(milliseconds)) * 1_000_000n + below)
}
