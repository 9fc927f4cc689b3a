import { parseTime } from '../../../api/meta/time.ts'
import type { Functions } from '../library.ts'
import { CelError, type CelMap, type CelValue, Duration, kindOf, Timestamp, TypeValue, Uint } from '../values.ts'
import { codePoints } from './size.ts'

const inInt = (value: bigint): bigint => {
  if (BigInt.asIntN(64, value) !== value) throw new CelError('integer overflow')
  return value
}
const inUint = (value: bigint): Uint => {
  if (BigInt.asUintN(64, value) !== value) throw new CelError('unsigned integer overflow')
  return new Uint(value)
}
const whole = (value: number): bigint => {
  if (!Number.isFinite(value) || Math.abs(value) >= 2 ** 63) throw new CelError('integer overflow')
  return BigInt(Math.trunc(value))
}
const wholeText = (text: string): bigint => {
  if (!/^[-+]?\d+$/.test(text)) throw new CelError(`type conversion error from 'string' to 'int'`)
  return BigInt(text)
}

function toDouble(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isNaN(value) && text !== 'NaN') throw new CelError(`type conversion error from 'string' to 'double'`)
  return value
}

function toBool(text: string): boolean {
  if (['true', 'True', 'TRUE', 't', '1'].includes(text)) return true
  if (['false', 'False', 'FALSE', 'f', '0'].includes(text)) return false
  throw new CelError(`type conversion error from 'string' to 'bool'`)
}

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

/** `1h30m`, `-1.5s` */
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

function toDuration(text: string): Duration {
  const nanos = parseDuration(text)
  if (nanos === undefined) throw new CelError(`type conversion error from 'string' to 'google.protobuf.Duration'`)
  return new Duration(nanos)
}

export function parseTimestamp(text: string): Timestamp | undefined {
  const milliseconds = parseTime(text)
  if (milliseconds === undefined) return undefined
  const fraction = /\.(\d{1,9})/.exec(text)?.[1] ?? ''
  const below = BigInt(fraction.padEnd(9, '0').slice(3) || '0')
  return new Timestamp(BigInt(Math.floor(milliseconds)) * 1_000_000n + below)
}

function toTimestamp(text: string): Timestamp {
  const timestamp = parseTimestamp(text)
  if (!timestamp) throw new CelError(`type conversion error from 'string' to 'google.protobuf.Timestamp'`)
  return timestamp
}

export function durationText({ nanos }: Duration): string {
  const sign = nanos < 0n ? '-' : ''
  const size = nanos < 0n ? -nanos : nanos
  const fraction = (size % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '')
  return `${sign}${size / 1_000_000_000n}${fraction && `.${fraction}`}s`
}

export function timestampText({ nanos }: Timestamp): string {
  const milliseconds = Number((nanos - (((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)) / 1_000_000n)
  const fraction = (((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n).toString().padStart(9, '0')
  const base = new Date(milliseconds).toISOString().slice(0, 19)
  const shown = fraction.replace(/0+$/, '')
  return `${base}${shown && `.${shown}`}Z`
}

export function doubleText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

const utf8 = (bytes: Uint8Array) => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

const same = (value: CelValue) => value
const length = (value: { length: number }) => BigInt(value.length)
const size = (value: string) => BigInt(codePoints(value).length)
const mapSize = (value: CelMap) => BigInt(value.size)

export const conversions: Functions = {
  'dyn(A): dyn': same,
  'type(A): type<A>': (value: CelValue) => new TypeValue({ kind: kindOf(value), params: [] }),
  'size(string): int': size,
  'size(bytes): int': length,
  'size(list<A>): int': length,
  'size(map<A, B>): int': mapSize,
  'string.size(): int': size,
  'bytes.size(): int': length,
  'list<A>.size(): int': length,
  'map<A, B>.size(): int': mapSize,
  'int(int): int': same,
  'int(uint): int': ({ value }: Uint) => inInt(value),
  'int(double): int': whole,
  'int(string): int': (text: string) => inInt(wholeText(text)),
  'int(timestamp): int': ({ nanos }: Timestamp) => nanos / 1_000_000_000n,
  'int(duration): int': ({ nanos }: Duration) => nanos / 1_000_000_000n,
  'uint(uint): uint': same,
  'uint(int): uint': inUint,
  'uint(double): uint': (value: number) => inUint(whole(value)),
  'uint(string): uint': (text: string) => inUint(wholeText(text)),
  'double(double): double': same,
  'double(int): double': Number,
  'double(uint): double': ({ value }: Uint) => Number(value),
  'double(string): double': toDouble,
  'bool(bool): bool': same,
  'bool(string): bool': toBool,
  'string(string): string': same,
  'string(int): string': String,
  'string(uint): string': ({ value }: Uint) => String(value),
  'string(double): string': doubleText,
  'string(bool): string': String,
  'string(bytes): string': utf8,
  'string(timestamp): string': timestampText,
  'string(duration): string': durationText,
  'bytes(bytes): bytes': same,
  'bytes(string): bytes': (text: string) => new TextEncoder().encode(text),
  'duration(duration): duration': same,
  'duration(string): duration': toDuration,
  'duration(int): duration': (seconds: bigint) => new Duration(inInt(seconds * 1_000_000_000n)),
  'timestamp(timestamp): timestamp': same,
  'timestamp(string): timestamp': toTimestamp,
  'timestamp(int): timestamp': (seconds: bigint) => new Timestamp(seconds * 1_000_000_000n),
}
