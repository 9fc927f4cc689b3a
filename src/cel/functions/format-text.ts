import type { Budget } from '../library.ts'
import { formatType } from '../types.ts'
import {
  CelError,
  type CelValue,
  Duration,
  isNumber,
  kindOf,
  mapKey,
  Optional,
  Timestamp,
  TypeValue,
} from '../values.ts'
import { doubleText, durationText, timestampText } from './conversions.ts'
import { unitsOf } from './size.ts'

const VERB = /%(?:\.(\d+))?([a-zA-Z%])/g

/** `'%s is %d'.format([x, y])` */
export function formatText(text: string, values: readonly CelValue[], budget: Budget): string {
  budget.work(unitsOf(text) + values.length)
  let next = 0
  return text.replace(VERB, (_, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%'
    if (next >= values.length) throw new CelError(`index ${next} out of range`)
    const value = values[next++]!
    const digits = precision === undefined ? 6 : Number(precision)
    if (digits > 100) throw new CelError('precision is too large')
    const shown = render(verb, value, digits)
    budget.work(unitsOf(shown))
    return shown
  })
}

function render(verb: string, value: CelValue, digits: number): string {
  const wrong = () => new CelError(`could not parse formatting clause %${verb}: unexpected type ${kindOf(value)}`)
  switch (verb) {
    case 's':
      return show(value)
    case 'd':
      if (typeof value === 'number') return doubleText(value)
      if (!isNumber(value)) throw wrong()
      return String(mapKey(value))
    case 'f':
    case 'e': {
      const number = isNumber(value) ? Number(mapKey(value)) : Number.NaN
      if (Number.isNaN(number) && typeof value !== 'number') throw wrong()
      return verb === 'f' ? number.toFixed(digits) : number.toExponential(digits).replace(/e([-+])(\d)$/, 'e$10$2')
    }
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0'
      if (!isNumber(value)) throw wrong()
      return (mapKey(value) as bigint).toString(2)
    case 'x':
    case 'X': {
      const hex = toHex(value)
      if (hex === undefined) throw wrong()
      return verb === 'X' ? hex.toUpperCase() : hex
    }
    case 'o':
      if (!isNumber(value)) throw wrong()
      return (mapKey(value) as bigint).toString(8)
    default:
      throw new CelError(`unrecognized formatting clause "${verb}"`)
  }
}

function toHex(value: CelValue): string | undefined {
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return isNumber(value) ? (mapKey(value) as bigint).toString(16) : undefined
}

/** A value as text, as `%s` has it. */
export function show(value: CelValue): string {
  if (typeof value === 'string') return value
  if (value === null) return 'null'
  if (typeof value === 'number') return doubleText(value)
  if (isNumber(value)) return String(mapKey(value))
  if (typeof value === 'boolean') return String(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (value instanceof TypeValue) return formatType(value.type)
  if (value instanceof Optional) return value.value === undefined ? 'optional.none()' : `optional(${show(value.value)})`
  if (value instanceof Map) {
    const entries = [...value].map(([key, one]) => [show(key), show(one)] as const)
    return `{${entries
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => `${key}: ${one}`)
      .join(', ')}}`
  }
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  return (value as { key: string }).key
}
