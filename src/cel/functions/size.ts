import type { CelValue } from '../values.ts'

/** Characters that are walked in the time of one step. */
const CHARACTERS_PER_UNIT = 10

/** About how many steps it takes to walk over a value. */
export function unitsOf(value: CelValue): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return Math.ceil(value.length / CHARACTERS_PER_UNIT)
  if (Array.isArray(value)) return value.length
  return value instanceof Map ? value.size : 1
}

/** Characters, not UTF-16 units. */
export function codePoints(text: string): string[] {
  return Array.from(text)
}
