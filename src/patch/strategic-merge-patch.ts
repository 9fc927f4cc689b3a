import { badRequest } from '../api/meta/api-error.ts'
import type { Json, JsonObject } from '../api/meta/object.ts'
import type { Schema } from '../api/schema/schema.ts'
import { cloneJson, cloneWithoutNulls, isObject, ownField, setField } from './json-value.ts'
import { notAnObject } from './merge-patch.ts'
import { deleteFromPrimitives, type ListMerge, mergeList, orderElements, unknownPatchType } from './strategic-list.ts'

/**
 * A strategic merge patch: a merge patch that knows from the schema which lists merge by which key, with directives
 * for what a merge cannot say:
 *
 * - `$patch: replace | delete` in an object, or in an item of a list
 * - `$retainKeys: [...]` drops every other field of the object
 * - `$deleteFromPrimitiveList/x: [...]` takes values out of the list `x`
 * - `$setElementOrder/x: [...]` says in which order the items of `x` shall stand
 *
 * Changes the draft and returns it; the patch is left alone.
 */
export function strategicMergePatch<T extends object>(draft: T, patch: unknown, schema: Schema): T {
  if (!isObject(patch)) throw badRequest(notAnObject(patch))
  return mergeObject(draft as JsonObject, patch, schema) as T
}

const PATCH = '$patch'
const RETAIN_KEYS = '$retainKeys'
const DELETE_FROM = '$deleteFromPrimitiveList/'
const SET_ORDER = '$setElementOrder/'

const schemaOf = (schema: Schema | undefined, field: string): Schema | undefined =>
  schema?.properties && Object.hasOwn(schema.properties, field)
    ? schema.properties[field]
    : schema?.additionalProperties

function mergeObject(target: JsonObject, patch: JsonObject, schema: Schema | undefined): JsonObject {
  const directive = ownField(patch, PATCH)
  if (directive === 'replace') return withoutDirectives(patch, schema)
  if (directive === 'delete') return {}
  if (directive !== undefined) throw unknownPatchType(directive, patch)
  retainKeys(target, patch)
  const ordered = setElementOrders(target, patch, schema)
  for (const name of Object.keys(patch)) {
    if (ordered?.has(name)) continue
    if (name.startsWith(DELETE_FROM)) deletePrimitives(target, name.slice(DELETE_FROM.length), patch[name])
    else if (!isDirective(name, schema)) mergeField(target, name, patch[name], schemaOf(schema, name))
  }
  return target
}

/** A field may begin with a dollar only if the schema knows it (`$ref` of a JSON schema) or knows no fields at all. */
function isDirective(name: string, schema: Schema | undefined): boolean {
  if (!name.startsWith('$')) return false
  if (name === RETAIN_KEYS || name.startsWith(SET_ORDER)) return true
  if (!schema?.properties || Object.hasOwn(schema.properties, name)) return false
  throw badRequest(`unknown directive ${JSON.stringify(name)} in a strategic merge patch`)
}

const listMerge = ({ items, patchMergeKey }: Schema): ListMerge => ({
  key: patchMergeKey,
  mergeItem: (current, patch) => mergeObject(current, patch, items),
  freshItem: (patch) => fresh(patch, items),
})

function mergeField(target: JsonObject, name: string, patch: Json | undefined, schema: Schema | undefined): void {
  if (patch === null || patch === undefined) {
    delete target[name]
    return
  }
  const current = ownField(target, name)
  const isReplaced = schema?.patchStrategy?.includes('replace')
  if (isObject(patch) && isObject(current) && !isReplaced) {
    setField(target, name, mergeObject(current, patch, schema))
  } else if (Array.isArray(patch) && Array.isArray(current) && schema?.patchStrategy?.includes('merge')) {
    setField(target, name, mergeList(current, patch, listMerge(schema)))
  } else if (!(current === undefined && isObject(patch) && patch[PATCH] === 'delete')) {
    setField(target, name, fresh(patch, schema))
  }
}

/** What a patch leaves where nothing was before: itself, without nulls and directives. */
function fresh(patch: Json, schema: Schema | undefined): Json {
  if (isObject(patch)) return ownField(patch, PATCH) === 'delete' ? {} : withoutDirectives(patch, schema)
  if (!Array.isArray(patch)) return patch
  if (!patch.some(isObject)) return cloneJson(patch)
  if (schema?.patchStrategy?.includes('merge') && schema.patchMergeKey !== undefined)
    return mergeList([], patch, listMerge(schema))
  return patch
    .filter((item) => !(isObject(item) && ownField(item, PATCH) !== undefined))
    .map((item) => (isObject(item) ? withoutDirectives(item, schema?.items) : cloneWithoutNulls(item)))
}

function withoutDirectives(patch: JsonObject, schema: Schema | undefined): JsonObject {
  const object: JsonObject = {}
  const directive = ownField(patch, PATCH)
  if (directive !== undefined && directive !== 'replace') throw unknownPatchType(directive, patch)
  for (const name of Object.keys(patch)) {
    const value = patch[name]
    if (name === PATCH || name.startsWith(DELETE_FROM) || isDirective(name, schema)) continue
    if (value !== null && value !== undefined) mergeField(object, name, value, schemaOf(schema, name))
  }
  return object
}

function retainKeys(target: JsonObject, patch: JsonObject): void {
  const keys = ownField(patch, RETAIN_KEYS)
  if (keys === undefined) return
  if (!Array.isArray(keys)) throw badRequest('invalid patch format of retainKeys')
  const kept = new Set(keys)
  for (const name of Object.keys(patch)) {
    const isPlain = name !== RETAIN_KEYS && !name.startsWith(DELETE_FROM) && !name.startsWith(SET_ORDER)
    if (isPlain && patch[name] !== null && !kept.has(name)) throw badRequest('invalid patch format of retainKeys')
  }
  for (const name of Object.keys(target)) if (!kept.has(name)) delete target[name]
}

function deletePrimitives(target: JsonObject, name: string, values: Json | undefined): void {
  if (!Array.isArray(values)) throw badRequest('invalid patch format of primitive list')
  const current = ownField(target, name)
  if (Array.isArray(current)) setField(target, name, deleteFromPrimitives(current, values))
}

/** Merges the lists whose order is given and puts them in that order; names the fields that are done with. */
function setElementOrders(
  target: JsonObject,
  patch: JsonObject,
  schema: Schema | undefined,
): ReadonlySet<string> | undefined {
  let done: Set<string> | undefined
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(SET_ORDER)) continue
    const order = patch[directive]
    const name = directive.slice(SET_ORDER.length)
    if (!Array.isArray(order)) throw badRequest('invalid patch format of setElementOrder list')
    const listSchema = schemaOf(schema, name)
    const current = ownField(target, name)
    const before = Array.isArray(current) ? [...current] : []
    // Values are deleted first, so that the order is given to what remains.
    const deletion = DELETE_FROM + name
    if (Object.hasOwn(patch, deletion)) deletePrimitives(target, name, patch[deletion])
    if (Object.hasOwn(patch, name)) mergeField(target, name, patch[name], listSchema)
    const merged = ownField(target, name)
    if (Array.isArray(merged)) setField(target, name, orderElements(merged, order, before, listSchema?.patchMergeKey))
    done ??= new Set()
    done.add(directive).add(name).add(deletion)
  }
  return done
}
