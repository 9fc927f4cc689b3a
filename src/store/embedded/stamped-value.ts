import type { Revision } from '../store.ts'
import { MAX_KEY_BYTES } from './frame.ts'

/**
 * The value as it is stored: with the revision's digits in its slot, in memory of its own. A slice of a larger buffer is
 * copied, or one small value would keep the whole of it alive.
 */
export function stampedValue(value: Buffer, slot: number | undefined, revision: Revision): Buffer {
  if (slot === undefined) {
    if (value.length * 2 >= value.buffer.byteLength) return value
    const own = Buffer.allocUnsafeSlow(value.length)
    value.copy(own)
    return own
  }
  if (!Number.isInteger(slot) || slot < 0 || slot > value.length) {
    throw new RangeError(`the revision slot ${slot} is outside of the value of ${value.length} bytes`)
  }
  const digits = String(revision)
  const stamped = Buffer.allocUnsafeSlow(value.length + digits.length)
  value.copy(stamped, 0, 0, slot)
  stamped.write(digits, slot, 'latin1')
  value.copy(stamped, slot + digits.length, slot)
  return stamped
}

const NOT_ASCII = /[^\0-\x7f]/

/** Returns the key, or throws if it could not be written and read back as it is. */
export function checkedKey(key: string): string {
  if (key.length > MAX_KEY_BYTES / 3 && Buffer.byteLength(key) > MAX_KEY_BYTES) {
    throw new RangeError(`a key may have ${MAX_KEY_BYTES} bytes; this one has ${Buffer.byteLength(key)}`)
  }
  if (NOT_ASCII.test(key) && Buffer.from(key).toString() !== key) throw new RangeError('a key must be well-formed text')
  return key
}
