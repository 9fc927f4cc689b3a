import type { FieldError } from '../../api/meta/field-error.ts'
import { keyText } from '../../api/schema/list-keys.ts'
import type { Schema } from '../../api/schema/schema.ts'
import { deepEqual } from '../../base/deep-equal.ts'

/**
 * Lets values be that were wrong before and did not change, so that a schema can become stricter without making
 * objects unchangeable (KEP-4008).
 */
export function ratchet(errors: readonly FieldError[], object: object, old: object, schema: Schema): FieldError[] {
  return errors.filter((error) => !isUnchanged(error, object, old, schema))
}

function isUnchanged(error: FieldError, object: object, old: object, schema: Schema): boolean {
  // What is missing is the fault of what it is missing from.
  const path = error.reason === 'FieldValueRequired' ? error.field.slice(0, error.field.lastIndexOf('.')) : error.field
  if (path === '<nil>' || path === '') return deepEqual(withoutMetadata(object), withoutMetadata(old))
  const place = walk(path, object, old, schema)
  return place !== undefined && deepEqual(place.value, place.old)
}

function withoutMetadata(object: object): object {
  const { metadata: _, ...rest } = object as Record<string, unknown>
  return rest
}

interface Place {
  readonly value: unknown
  readonly old: unknown
}

/** Follows a path such as `spec.items[2].name` through both objects; undefined where the old one has no such place. */
function walk(path: string, object: unknown, old: unknown, schema: Schema | undefined): Place | undefined {
  if (path === '') return { value: object, old }
  if (old === undefined) return undefined
  const index = /^\[(\d+)\]/.exec(path)
  if (index && Array.isArray(object)) {
    const item = object[Number(index[1])]
    const before = Array.isArray(old) ? correlated(Number(index[1]), object, old, schema) : undefined
    return walk(rest(path, index[0].length), item, before, schema?.items)
  }
  if (!isObject(object) || !isObject(old)) return undefined
  // Names may contain dots, so the longest one that fits is taken.
  const name = Object.keys(object)
    .filter((key) => path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`))
    .sort((a, b) => b.length - a.length)[0]
  if (name === undefined) return undefined
  const field = schema?.properties?.[name] ?? schema?.additionalProperties
  return walk(rest(path, name.length), object[name], Object.hasOwn(old, name) ? old[name] : undefined, field)
}

const rest = (path: string, length: number) => (path[length] === '.' ? path.slice(length + 1) : path.slice(length))

/** Items are known again by their keys; in other lists by nothing, so there the list as a whole decides. */
function correlated(
  index: number,
  list: readonly unknown[],
  old: readonly unknown[],
  schema: Schema | undefined,
): unknown {
  if (schema?.listType !== 'map') return deepEqual(list, old) ? old[index] : undefined
  const key = keyText(list[index], schema)
  return old.find((one) => keyText(one, schema) === key)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
