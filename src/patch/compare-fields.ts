import type { FieldsV1, Json, JsonObject } from '../api/meta/object.ts'
import { deepEqual } from '../base/deep-equal.ts'
import { type FieldSet, LEAF, setOf, union } from './field-set.ts'
import { ownField } from './json-value.ts'
import { isGranularObject, itemElements, type ListShape, type MergeShape, UNKNOWN_SHAPE } from './merge-shape.ts'

/** What changed from one object to another. */
export interface Comparison {
  /** Fields that are new or have another value. */
  readonly changed: FieldSet
  readonly removed: FieldSet
}

const NOTHING_CHANGED: Comparison = { changed: undefined, removed: undefined }

export function compareFields(old: JsonObject, object: JsonObject, shape: MergeShape): Comparison {
  return compareObjects(old, object, shape) ?? NOTHING_CHANGED
}

/** Undefined if nothing changed, which is the usual case at most nodes. */
function compareValues(
  old: Json | undefined,
  value: Json | undefined,
  shape: MergeShape,
  isInline: boolean,
): Comparison | undefined {
  if (old === value) return undefined
  if (old === undefined) return { changed: newFields(value!, shape, isInline), removed: undefined }
  if (value === undefined) return { changed: undefined, removed: goneFields(old, shape) }
  if (isGranularObject(shape, old) && isGranularObject(shape, value)) return compareObjects(old, value, shape)
  if (shape.list && Array.isArray(old) && Array.isArray(value)) return compareLists(old, value, shape, shape.list)
  return comparePieces(old, value, shape)
}

function comparePieces(old: Json, value: Json, shape: MergeShape): Comparison | undefined {
  if (deepEqual(old, value)) return undefined
  // One of them is one piece and the other is not, or both are.
  const removed = isGranularObject(shape, old) || itemElements(shape, old) ? goneFields(old, shape) : undefined
  return { changed: union(newFields(value, shape, false), LEAF), removed }
}

/** Gathers the comparisons of the parts of one object or list. */
class ComparisonBuilder {
  #changed: FieldsV1 | undefined
  #removed: FieldsV1 | undefined

  add(element: string, part: Comparison | undefined): void {
    if (part === undefined) return
    if (part.changed !== undefined) {
      this.#changed ??= {}
      this.#changed[element] = union(this.#changed[element], part.changed)!
    }
    if (part.removed !== undefined) {
      this.#removed ??= {}
      this.#removed[element] = union(this.#removed[element], part.removed)!
    }
  }

  result(): Comparison | undefined {
    if (this.#changed === undefined && this.#removed === undefined) return undefined
    return { changed: this.#changed, removed: this.#removed }
  }
}

function compareObjects(old: JsonObject, object: JsonObject, shape: MergeShape): Comparison | undefined {
  const builder = new ComparisonBuilder()
  for (const name of Object.keys(object)) {
    const before = ownField(old, name)
    const after = object[name]
    if (before !== after) compareField(builder, name, before, after, shape)
  }
  for (const name of Object.keys(old)) {
    const before = old[name]
    if (before !== undefined && !Object.hasOwn(object, name)) compareField(builder, name, before, undefined, shape)
  }
  return builder.result()
}

function compareField(
  builder: ComparisonBuilder,
  name: string,
  old: Json | undefined,
  value: Json | undefined,
  shape: MergeShape,
): void {
  if (shape.ignored?.has(name)) return
  const known = shape.fields?.get(name)
  // Metadata counts as there even when it is not: nobody owns it as a whole.
  if (known?.shape.ignored) builder.add(known.element, compareValues(old ?? {}, value ?? {}, known.shape, true))
  else if (known) builder.add(known.element, compareValues(old, value, known.shape, known.isInline))
  else builder.add(`f:${name}`, compareValues(old, value, shape.others ?? UNKNOWN_SHAPE, false))
}

/** Most lists keep their items in place: then only those that differ need to be told apart by key. */
function compareLists(old: Json[], list: Json[], shape: MergeShape, { items, elementOf }: ListShape) {
  if (old.length !== list.length) return compareItems(old, list, shape, items)
  const builder = new ComparisonBuilder()
  for (let i = 0; i < list.length; i++) {
    if (deepEqual(old[i], list[i])) continue
    const element = elementOf(list[i]!)
    if (element === undefined || element !== elementOf(old[i]!)) return compareItems(old, list, shape, items)
    builder.add(element, compareValues(old[i], list[i], items, false))
  }
  return builder.result()
}

function compareItems(old: Json[], list: Json[], shape: MergeShape, items: MergeShape): Comparison | undefined {
  const oldElements = itemElements(shape, old)
  const elements = itemElements(shape, list)
  if (!oldElements || !elements) return comparePieces(old, list, shape)
  const before = byElement(old, oldElements)
  const after = byElement(list, elements)
  const builder = new ComparisonBuilder()
  for (const [element, group] of after) builder.add(element, compareGroups(before.get(element), group, items))
  for (const [element, group] of before)
    if (!after.has(element)) builder.add(element, compareGroups(group, undefined, items))
  return builder.result()
}

/** Items of one key: one, as a rule. Several (two environment variables of one name) are compared as one piece. */
type Group = readonly Json[]

function byElement(items: Json[], elements: string[]): Map<string, Json[]> {
  const groups = new Map<string, Json[]>()
  for (let i = 0; i < items.length; i++) {
    const group = groups.get(elements[i]!)
    if (group) group.push(items[i]!)
    else groups.set(elements[i]!, [items[i]!])
  }
  return groups
}

function compareGroups(old: Group | undefined, group: Group | undefined, shape: MergeShape): Comparison | undefined {
  if ((old?.length ?? 1) === 1 && (group?.length ?? 1) === 1) return compareValues(old?.[0], group?.[0], shape, false)
  if (deepEqual(old, group)) return undefined
  return group ? { changed: LEAF, removed: undefined } : { changed: undefined, removed: LEAF }
}

/** All fields of a value that was not there before, itself included unless it is `isInline`. */
function newFields(value: Json, shape: MergeShape, isInline: boolean): FieldsV1 {
  return fieldsIn(value, shape, isInline, false)
}

/** All fields of a value that is gone. Whoever got hold of an inline field when it was empty loses it too. */
function goneFields(value: Json, shape: MergeShape): FieldsV1 {
  return fieldsIn(value, shape, false, true)
}

/** All fields of a new object: the whole work of a creation. */
export function newObjectFields(object: JsonObject, shape: MergeShape): FieldsV1 {
  return objectFields(object, shape, true, false)
}

function fieldsIn(value: Json, shape: MergeShape, isInline: boolean, isGone: boolean): FieldsV1 {
  if (isGranularObject(shape, value)) return objectFields(value, shape, isInline, isGone)
  const elements = itemElements(shape, value)
  if (!elements || elements.length === 0) return LEAF
  const list = value as Json[]
  const { items } = shape.list!
  const node: FieldsV1 = isInline ? {} : { '.': LEAF }
  for (let i = 0; i < list.length; i++) node[elements[i]!] = fieldsIn(list[i]!, items, false, isGone)
  return node
}

function objectFields(object: JsonObject, shape: MergeShape, isInline: boolean, isGone: boolean): FieldsV1 {
  // In the order in which they are stored, so that they need not be sorted again.
  const names = Object.keys(object).sort()
  const node: FieldsV1 = isInline || names.length === 0 ? {} : { '.': LEAF }
  for (const name of names) {
    const value = object[name]
    if (value === undefined || shape.ignored?.has(name)) continue
    const known = shape.fields?.get(name)
    if (typeof value !== 'object') node[known ? known.element : `f:${name}`] = LEAF
    else if (!known) node[`f:${name}`] = fieldsIn(value, shape.others ?? UNKNOWN_SHAPE, false, isGone)
    else {
      const fields = fieldsIn(value, known.shape, known.isInline && !isGone, isGone)
      if (!known.shape.ignored || setOf(fields)) node[known.element] = fields
    }
  }
  return node
}
