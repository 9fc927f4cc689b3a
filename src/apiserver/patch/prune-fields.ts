import type { FieldsV1, Json, JsonObject } from '../../api/meta/object.ts'
import { type FieldSet, isMember } from './field-set.ts'
import { isObject, ownField, setField } from './json-value.ts'
import { fieldShape, itemElements, type MergeShape, UNKNOWN_SHAPE } from './merge-shape.ts'

/**
 * Removes from the draft what its applier gave up: fields it owned `before` and that nobody owns `now`. An item of a
 * list, or a key of a map, goes as a whole when nobody owns it, whatever others set inside it.
 */
export function pruneFields(draft: JsonObject, before: FieldSet, now: FieldSet, shape: MergeShape): void {
  if (before !== undefined) pruneObject(draft, before, now, shape)
}

function pruneObject(object: JsonObject, before: FieldsV1, now: FieldSet, shape: MergeShape): void {
  for (const element in before) {
    if (!element.startsWith('f:')) continue
    const name = element.slice(2)
    const value = ownField(object, name)
    if (value === undefined || shape.ignored?.has(name)) continue
    const isDeclared = shape.fields?.has(name) ?? false
    const rest = pruned(value, before[element]!, now?.[element], isDeclared, fieldShape(shape, name) ?? UNKNOWN_SHAPE)
    if (rest === undefined) delete object[name]
    else if (rest !== value) setField(object, name, rest)
  }
}

/** What is left of one value; undefined if nothing. */
function pruned(
  value: Json,
  before: FieldsV1,
  now: FieldSet,
  isDeclared: boolean,
  shape: MergeShape,
): Json | undefined {
  const wasOwned = isDeclared || isMember(before)
  const isOwned = now !== undefined && (isDeclared || isMember(now))
  if (wasOwned && !isOwned) return undefined
  if (Array.isArray(value)) return prunedList(value, before, now, shape)
  if (!isObject(value) || isEmpty(value)) return value
  pruneObject(value, before, now, shape)
  // An emptied map stays only if somebody asked for an empty one.
  return isEmpty(value) && !(now !== undefined && isMember(now)) ? undefined : value
}

function prunedList(list: Json[], before: FieldsV1, now: FieldSet, shape: MergeShape): Json | undefined {
  const elements = itemElements(shape, list)
  if (!elements || list.length === 0) return list
  const items: Json[] = []
  for (const [index, item] of list.entries()) {
    const element = elements[index]!
    const owned = before[element]
    const rest = owned === undefined ? item : pruned(item, owned, now?.[element], false, shape.list!.items)
    if (rest !== undefined) items.push(rest)
  }
  return items.length === 0 ? undefined : items
}

const isEmpty = (object: JsonObject): boolean => {
  for (const _ in object) return false
  return true
}
