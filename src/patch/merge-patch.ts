import { badRequest } from '../api/meta/api-error.ts'
import type { Json, JsonObject } from '../api/meta/object.ts'
import { cloneJson, isObject, ownField, setField } from './json-value.ts'

/** RFC 7386. Changes the draft and returns it; the patch is left alone. */
export function mergePatch<T extends object>(draft: T, patch: unknown): T {
  if (!isObject(patch)) throw badRequest(notAnObject(patch))
  mergeInto(draft as JsonObject, patch)
  return draft
}

/** How a patch that is no object is refused. */
export function notAnObject(patch: unknown): string {
  const found = Array.isArray(patch) ? 'array' : typeof patch === 'boolean' ? 'bool' : typeof patch
  return `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`
}

function mergeInto(target: JsonObject, patch: JsonObject): void {
  for (const name of Object.keys(patch)) {
    const value = patch[name]
    if (value === null || value === undefined) delete target[name]
    else setField(target, name, merged(ownField(target, name), value))
  }
}

function merged(current: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return cloneJson(patch)
  const target = isObject(current) ? current : {}
  mergeInto(target, patch)
  return target
}
