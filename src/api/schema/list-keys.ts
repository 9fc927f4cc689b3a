import type { Schema } from './schema.ts'
import { canonical } from './value-rules.ts'

/** The key fields of an item of a list of type map; a missing one counts with its default. */
export function keysOf(item: unknown, schema: Schema): Record<string, unknown> {
  const keys: Record<string, unknown> = {}
  for (const name of schema.listMapKeys ?? []) {
    const found = keyOf(item, name, schema)
    if (found !== undefined) keys[name] = found
  }
  return keys
}

/** Equal for items with equal keys, and for no others. */
export function keyText(item: unknown, schema: Schema): string {
  let text = ''
  for (const name of schema.listMapKeys ?? []) {
    const value = keyOf(item, name, schema)
    // With its length before it, a text cannot run into the next one.
    if (typeof value === 'string') text += `${value.length}"${value}`
    else text += typeof value === 'number' ? `#${value}` : `?${canonical(value)}`
  }
  return text
}

function keyOf(item: unknown, name: string, schema: Schema): unknown {
  const value = typeof item === 'object' && item !== null ? (item as Record<string, unknown>)[name] : undefined
  return value ?? schema.items?.properties?.[name]?.default
}
