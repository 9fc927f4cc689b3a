import type { Json, JsonObject } from '../api/meta/object.ts'

/**
 * Patches name fields from outside. `__proto__` is a legal key of a ConfigMap and `constructor` of a label map, so
 * fields are read and written here only as own properties.
 */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const ownField = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

export function setField(object: JsonObject, name: string, value: Json): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

/** A private copy: what a patch brings may be shared with its sender. */
export function cloneJson(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(cloneJson)
  // A spread keeps the shape of what it copies, which makes the copy as small and as fast as the original.
  const copy: JsonObject = { ...value }
  for (const name of Object.keys(copy)) {
    const child = copy[name]
    if (typeof child === 'object' || child === undefined) setField(copy, name, cloneJson(child ?? null))
  }
  return copy
}

/** A private copy without the fields that are null: in a merge they say what to leave out. */
export function cloneWithoutNulls(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(cloneWithoutNulls)
  const copy: JsonObject = {}
  for (const name of Object.keys(value)) {
    const child = value[name]
    if (child !== null && child !== undefined) setField(copy, name, cloneWithoutNulls(child))
  }
  return copy
}
