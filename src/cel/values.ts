import { type CelType, formatType } from './types.ts'

/** An unsigned number, told apart from signed ones. */
export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

/** A length of time in nanoseconds. */
export class Duration {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A moment, in nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A value that may be missing. */
export class Optional {
  static readonly NONE = new Optional(undefined)
  readonly value: CelValue | undefined

  constructor(value: CelValue | undefined) {
    this.value = value
  }
}

/** A type as a value: what `type(x)` gives. */
export class TypeValue {
  readonly type: CelType

  constructor(type: CelType) {
    this.type = type
  }
}

/** A value of a library: a quantity, an address, a URL. `key` is equal for equal values. */
export interface OpaqueValue {
  readonly celKind: string
  readonly key: string
  /** What it counts for where work grows with it; one when absent. */
  readonly size?: number
  /** Of a format: the length of the expression that describes it. */
  readonly patternSize?: number
  /** What can be selected from it, if anything. */
  field?(name: string): CelValue | undefined
}

/** Objects and maps alike; keys are strings, numbers or booleans. */
export type CelMap = Map<CelValue, CelValue>

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint
  | Uint8Array
  | Duration
  | Timestamp
  | Optional
  | TypeValue
  | OpaqueValue
  | CelMap
  | readonly CelValue[]

/** Something that cannot be computed: a missing key, an overflow, a wrong argument. */
export class CelError extends Error {}

/** The expression does more work than it may. */
export class CelBudgetError extends CelError {}

export function kindOf(value: CelValue): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return typeof value === 'string' ? 'string' : 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'double'
  }
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (value instanceof Map) return 'map'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Duration) return 'duration'
  if (value instanceof Timestamp) return 'timestamp'
  if (value instanceof Optional) return 'optional'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof TypeValue) return 'type'
  return (value as OpaqueValue).celKind
}

export const isNumber = (value: CelValue): value is bigint | number | Uint =>
  typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint

const plainNumber = (value: bigint | number | Uint) => (value instanceof Uint ? value.value : value)

/** Counts what is done. */
interface Worker {
  work(steps: number): void
}

/** `work` hears of every value that is looked at. */
export function isEqual(a: CelValue, b: CelValue, work?: Worker): boolean {
  work?.work(1)
  if (a === b) return true
  if (isNumber(a) && isNumber(b)) {
    // Numbers of different types are equal if they are the same number.
    return compareNumbers(plainNumber(a), plainNumber(b)) === 0
  }
  const kind = kindOf(a)
  if (kind !== kindOf(b)) return false
  switch (kind) {
    case 'list':
      return isEqualList(a as CelValue[], b as CelValue[], work)
    case 'map':
      return isEqualMap(a as CelMap, b as CelMap, work)
    case 'duration':
    case 'timestamp':
      return (a as Duration).nanos === (b as Duration).nanos
    case 'bytes':
      return Buffer.compare(a as Uint8Array, b as Uint8Array) === 0
    case 'type':
      return formatType((a as TypeValue).type) === formatType((b as TypeValue).type)
    case 'optional': {
      const [x, y] = [(a as Optional).value, (b as Optional).value]
      return x === undefined || y === undefined ? x === y : isEqual(x, y, work)
    }
    default:
      return typeof a === 'object' && a !== null && (a as OpaqueValue).key === (b as OpaqueValue).key
  }
}

const isEqualList = (a: readonly CelValue[], b: readonly CelValue[], work: Worker | undefined) =>
  a.length === b.length && a.every((item, i) => isEqual(item, b[i]!, work))

function isEqualMap(a: CelMap, b: CelMap, work: Worker | undefined): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a) {
    const other = b.get(mapKey(key))
    if (other === undefined || !isEqual(value, other, work)) return false
  }
  return true
}

/** The key under which a map holds a value: whole numbers of all types are one. */
export function mapKey(key: CelValue): CelValue {
  if (key instanceof Uint) return key.value
  return typeof key === 'number' && Number.isInteger(key) ? BigInt(key) : key
}

/** Less than, equal, greater than: -1, 0, 1. */
export function compare(a: CelValue, b: CelValue): number {
  if (isNumber(a) && isNumber(b)) {
    const [x, y] = [plainNumber(a), plainNumber(b)]
    if (Number.isNaN(x) || Number.isNaN(y)) throw new CelError('NaN values cannot be ordered')
    return compareNumbers(x, y)
  }
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  if ((a instanceof Duration && b instanceof Duration) || (a instanceof Timestamp && b instanceof Timestamp))
    return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0
  throw noOverload()
}

/** NaN is greater than itself, and so equal to nothing. */
const compareNumbers = (x: bigint | number, y: bigint | number) =>
  x < y ? -1 : x > y || Number.isNaN(x) || Number.isNaN(y) ? 1 : 0

/** By code points, as UTF-8 sorts. */
function compareText(a: string, b: string): number {
  if (a === b) return 0
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

export const noOverload = () => new CelError('no such overload')

/** A JSON value with nothing known about it: whole numbers are ints, as decoded JSON has them. */
export function fromJson(value: unknown): CelValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value !== 'object' || value === null) return (value ?? null) as CelValue
  if (Array.isArray(value)) return value.map(fromJson)
  const map: CelMap = new Map()
  for (const [key, field] of Object.entries(value)) map.set(key, fromJson(field))
  return map
}
