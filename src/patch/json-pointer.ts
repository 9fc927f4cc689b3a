import type { Json } from '../api/meta/object.ts'
import { isObject, ownField } from './json-value.ts'

/** Deeper objects could not be serialised any more. */
const MAX_DEPTH = 1000

/** The parts of an RFC 6901 pointer; undefined if it is none. The whole document is the empty list. */
export function parsePointer(pointer: string): string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/')) return undefined
  const parts = pointer.slice(1).split('/')
  if (parts.length > MAX_DEPTH) return undefined
  for (const [index, part] of parts.entries()) {
    if (!part.includes('~')) continue
    if (/~(?![01])/.test(part)) return undefined
    parts[index] = part.replaceAll('~1', '/').replaceAll('~0', '~')
  }
  return parts
}

/** An index into an array, without leading zeros; `-` is one past the end where an element can be added. */
export function arrayIndex(part: string, length: number): number | undefined {
  if (part === '-') return length
  if (!/^(0|[1-9]\d{0,9})$/.test(part)) return undefined
  const index = Number(part)
  return index <= length ? index : undefined
}

/** What stands at one step below a value; undefined if there is nothing. */
export function step(value: Json | undefined, part: string): Json | undefined {
  if (isObject(value)) return ownField(value, part)
  if (!Array.isArray(value) || part === '-') return undefined
  const index = arrayIndex(part, value.length)
  return index === undefined ? undefined : value[index]
}

export function resolvePointer(root: Json, parts: readonly string[]): Json | undefined {
  let value: Json | undefined = root
  for (const part of parts) value = step(value, part)
  return value
}
