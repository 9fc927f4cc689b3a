import type { Functions } from '../library.ts'
import { CelError, type CelValue, Duration, Optional, Timestamp, Uint } from '../values.ts'

function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0 || value === 0n || value === '') return true
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Duration || value instanceof Timestamp) return value.nanos === 0n
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0
  return value instanceof Map && value.size === 0
}

export const optionals: Functions = {
  'optional.of(A): optional<A>': (value: CelValue) => new Optional(value),
  'optional.none(): optional<A>': () => Optional.NONE,
  'optional.ofNonZeroValue(A): optional<A>': (value: CelValue) => (isZero(value) ? Optional.NONE : new Optional(value)),
  'optional<A>.hasValue(): bool': ({ value }: Optional) => value !== undefined,
  'optional<A>.value(): A': ({ value }: Optional) => {
    if (value === undefined) throw new CelError('optional.none() dereference')
    return value
  },
  'optional<A>.orValue(A): A': ({ value }: Optional, other: CelValue) => value ?? other,
  'optional<A>.or(optional<A>): optional<A>': (first: Optional, second: Optional) =>
    first.value === undefined ? second : first,
}
