import type { FieldsV1, Json, JsonObject } from '../api/meta/object.ts'
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
  if (typeof value !== 'object' || value === null || isEmpty(value)) return value
  const rest = Array.isArray(value) ? prunedList(value, before, now, shape) : value
  if (isObject(rest)) pruneObject(rest, before, now, shape)
  // What has been emptied stays only if somebody asked for it to be empty.
  return isEmpty(rest) && !(now !== undefined && isMember(now)) ? undefined : rest
}

function prunedList(list: Json[], before: FieldsV1, now: FieldSet, shape: MergeShape): Json[] {
  const elements = itemElements(shape, list)
  if (!elements) return list
  const items: Json[] = []
  for (const [index, item] of list.entries()) {
    const element = elements[index]!
    const owned = before[element]
    const rest = owned === undefined ? item : pruned(item, owned, now?.[element], false, shape.list!.items)
    if (rest !== undefined) items.push(rest)
  }
  return items
}

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false
  return true
}
