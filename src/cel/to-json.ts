import type { Json } from '../api/meta/object.ts'
import { durationText, timestampText } from './functions/conversions.ts'
import { CelError, type CelValue, Duration, kindOf, Optional, Timestamp, Uint } from './values.ts'

/** A value as JSON has it. Throws `CelError` for what JSON has no words for. */
export function toJson(value: CelValue): Json {
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'number')
    return value
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Uint) return Number(value.value)
  if (Array.isArray(value)) return value.map(toJson)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value)
  if (!(value instanceof Map)) throw new CelError(`unsupported type: ${kindOf(value)}`)
  const object: Record<string, Json> = {}
  for (const [key, field] of value) {
    if (typeof key !== 'string') throw new CelError('keys of objects must be strings')
    Object.defineProperty(object, key, { value: toJson(field), enumerable: true, writable: true, configurable: true })
  }
  return object
}
