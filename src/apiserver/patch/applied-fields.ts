import type { FieldsV1, Json, JsonObject } from '../../api/meta/object.ts'
import { LEAF, setOf } from './field-set.ts'
import { elementOfField, isGranularObject, itemElements, type MergeShape } from './merge-shape.ts'

/** The fields that an applied configuration names, and where it does not fit the schema. */
export interface AppliedFields {
  readonly set: FieldsV1
  readonly errors: readonly string[]
}

export function appliedFieldsOf(configuration: JsonObject, shape: MergeShape): AppliedFields {
  const errors: string[] = []
  return { set: objectFields(configuration, shape, '', errors), errors }
}

function objectFields(object: JsonObject, shape: MergeShape, path: string, errors: string[]): FieldsV1 {
  const node: FieldsV1 = {}
  for (const name of Object.keys(object)) {
    const value = object[name]
    if (value === undefined || shape.ignored?.has(name)) continue
    const known = shape.fields?.get(name)
    const child = known?.shape ?? shape.others
    if (child === undefined) {
      errors.push(`${path}.${name}: field not declared in schema`)
      continue
    }
    const fields = valueFields(value, child, `${path}.${name}`, errors)
    // A key of a map is owned itself; a field of a struct only through what is in it.
    if (fields === undefined || (child.ignored && !setOf(fields))) continue
    node[elementOfField(shape, name)] = known ? fields : asMember(fields)
  }
  return node
}

/** Undefined for an empty list that merges by item: it names nothing. */
function valueFields(value: Json, shape: MergeShape, path: string, errors: string[]): FieldsV1 | undefined {
  if (isGranularObject(shape, value)) return objectFields(value, shape, path, errors)
  if (shape.list === undefined || !Array.isArray(value)) return LEAF
  const elements = itemElements(shape, value)
  if (elements === undefined) {
    errors.push(
      `${path}: associative list with keys has an element that omits a key field (and doesn't have default value)`,
    )
    return LEAF
  }
  return elements.length === 0 ? undefined : itemFields(value, elements, shape.list.items, path, errors)
}

function itemFields(items: Json[], elements: string[], shape: MergeShape, path: string, errors: string[]): FieldsV1 {
  const node: FieldsV1 = {}
  for (const [index, item] of items.entries()) {
    const element = elements[index]!
    if (element in node) errors.push(`${path}: duplicate entries for key ${keyText(element)}`)
    node[element] = asMember(valueFields(item, shape, `${path}${keyText(element)}`, errors) ?? LEAF)
  }
  return node
}

const asMember = (fields: FieldsV1): FieldsV1 => {
  for (const _ in fields) return { '.': LEAF, ...fields }
  return fields
}

function keyText(element: string): string {
  if (element.startsWith('v:')) return `[=${element.slice(2)}]`
  const keys = Object.entries(JSON.parse(element.slice(2)) as Record<string, unknown>)
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`
}
