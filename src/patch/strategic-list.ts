import { badRequest } from '../api/meta/api-error.ts'
import type { Json, JsonObject } from '../api/meta/object.ts'
import { isObject, ownField } from './json-value.ts'

/** How the items of one list merge. */
export interface ListMerge {
  /** The field that tells the items of a list of objects apart. */
  readonly key: string | undefined
  readonly mergeItem: (current: JsonObject, patch: JsonObject) => JsonObject
  readonly freshItem: (patch: JsonObject) => Json
}

export const unknownPatchType = (type: Json, patch: Json) =>
  badRequest(
    `unknown patch type [${typeof type === 'string' ? type : JSON.stringify(type)}] in map: ${JSON.stringify(patch)}`,
  )

/** Merges a list whose schema says `merge`: objects by their merge key, anything else as a set. */
export function mergeList(current: Json[], patch: Json[], merge: ListMerge): Json[] {
  if (current.some(Array.isArray) || patch.some(Array.isArray)) throw badRequest('lists of lists are not supported')
  const hasObjects = current.some(isObject) || patch.some(isObject)
  if (!hasObjects) return [...new Set([...current, ...patch])]
  if (!current.every(isObject) || !patch.every(isObject)) throw badRequest('invalid JSON document')
  if (merge.key === undefined) throw badRequest('cannot merge lists without merge key')
  return mergeByKey(current, patch, merge.key, merge)
}

function mergeByKey(current: JsonObject[], patch: JsonObject[], key: string, merge: ListMerge): Json[] {
  const { kept, changes, isReplaced } = applyItemDirectives(current, patch, key)
  if (isReplaced) return changes.map(merge.freshItem)
  const before = [...kept]
  const positions = ranks(kept, (item) => keyOf(item as JsonObject, key))
  const merged: Json[] = kept
  for (const item of changes) {
    const value = keyOf(item, key)
    const position = positions.get(value)
    if (position !== undefined) merged[position] = merge.mergeItem(merged[position] as JsonObject, item)
    else {
      positions.set(value, merged.length)
      merged.push(merge.freshItem(item))
    }
  }
  return orderElements(merged, changes, before, key)
}

/** `$patch` in an item: `delete` removes the item with that key, `replace` makes the other items the whole list. */
function applyItemDirectives(current: JsonObject[], patch: JsonObject[], key: string) {
  const changes: JsonObject[] = []
  const deleted = new Set<Json>()
  let isReplaced = false
  for (const item of patch) {
    const directive = ownField(item, '$patch')
    if (directive === undefined) changes.push(item)
    else if (directive === 'delete') deleted.add(keyOf(item, key))
    else if (directive === 'replace') isReplaced = true
    else if (directive === 'merge') throw badRequest('merging lists cannot yet be specified in the patch')
    else throw unknownPatchType(directive, item)
  }
  const kept = deleted.size === 0 ? [...current] : current.filter((item) => !deleted.has(keyOf(item, key)))
  return { kept, changes, isReplaced }
}

function keyOf(item: JsonObject, key: string): Json {
  const value = ownField(item, key)
  if (value === undefined || value === null || typeof value === 'object') {
    throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`)
  }
  return value
}

export function deleteFromPrimitives(current: Json[], values: Json[]): Json[] {
  const deleted = new Set(values)
  return current.filter((value) => !deleted.has(value))
}

/**
 * Puts the items that `order` names in its order. The others keep their own order and stand, as far as that can be
 * told from the list `before`, before those that used to follow them.
 */
export function orderElements(merged: Json[], order: Json[], before: Json[], key: string | undefined): Json[] {
  const identity = (item: Json): Json => (key !== undefined && isObject(item) ? (item[key] ?? null) : item)
  const rank = ranks(order, identity)
  const oldRank = ranks(before, identity)
  const named = merged.filter((item) => rank.has(identity(item)))
  const others = merged.filter((item) => !rank.has(identity(item)))
  const byRank = (ranking: Map<Json, number>) => (a: Json, b: Json) =>
    (ranking.get(identity(a)) ?? before.length) - (ranking.get(identity(b)) ?? before.length)
  named.sort(byRank(rank))
  others.sort(byRank(oldRank))
  return interleave(others, named, (other, one) => {
    const otherRank = oldRank.get(identity(other))
    const oneRank = oldRank.get(identity(one))
    return otherRank !== undefined && oneRank !== undefined && otherRank < oneRank
  })
}

function ranks(list: Json[], identity: (item: Json) => Json): Map<Json, number> {
  const ranking = new Map<Json, number>()
  for (const [index, item] of list.entries()) if (!ranking.has(identity(item))) ranking.set(identity(item), index)
  return ranking
}

function interleave(others: Json[], named: Json[], isFirst: (other: Json, one: Json) => boolean): Json[] {
  const result: Json[] = []
  let next = 0
  for (const one of named) {
    while (next < others.length && isFirst(others[next]!, one)) result.push(others[next++]!)
    result.push(one)
  }
  return [...result, ...others.slice(next)]
}
