import type { FieldsV1, Json, JsonObject } from '../api/meta/object.ts'
import { elementText, LEAF, setOf } from './field-set.ts'
import { elementOfField, isGranularObject, itemElements, type MergeShape } from './merge-shape.ts'

/** The fields that an applied configuration names, and where it does not fit the schema. */
export interface AppliedFields {
  readonly set: FieldsV1
  readonly errors: readonly string[]
}

export function appliedFieldsOf(configuration: JsonObject, shape: MergeShape): AppliedFields {
  const walk = new AppliedWalk()
  return { set: walk.object(configuration, shape), errors: walk.errors }
}

class AppliedWalk {
  readonly errors: string[] = []
  /** Elements from the root to here; they become text only in an error. */
  readonly #path: string[] = []

  object(object: JsonObject, shape: MergeShape): FieldsV1 {
    const node: FieldsV1 = {}
    for (const name of Object.keys(object)) {
      const value = object[name]
      if (value === undefined || shape.ignored?.has(name)) continue
      const element = elementOfField(shape, name)
      const isDeclared = shape.fields?.has(name) ?? false
      const fields = this.#field(element, value, shape.fields?.get(name)?.shape ?? shape.others)
      // A key of a map is owned itself; a field of a struct only through what is in it.
      if (fields !== undefined) node[element] = isDeclared ? fields : asMember(fields)
    }
    return node
  }

  #field(element: string, value: Json, shape: MergeShape | undefined): FieldsV1 | undefined {
    if (shape !== undefined && (typeof value !== 'object' || value === null)) return LEAF
    this.#path.push(element)
    if (shape === undefined) this.#refuse('field not declared in schema')
    const fields = shape && this.#value(value, shape)
    this.#path.pop()
    return fields !== undefined && shape?.ignored ? setOf(fields) : fields
  }

  #value(value: Json, shape: MergeShape): FieldsV1 {
    if (isGranularObject(shape, value)) return this.object(value, shape)
    if (shape.list === undefined || !Array.isArray(value)) return LEAF
    const elements = itemElements(shape, value)
    if (elements !== undefined) return this.#items(value, elements, shape.list.items)
    this.#refuse("associative list with keys has an element that omits a key field (and doesn't have default value)")
    return LEAF
  }

  #items(items: Json[], elements: string[], shape: MergeShape): FieldsV1 {
    const node: FieldsV1 = {}
    for (let index = 0; index < items.length; index++) {
      const element = elements[index]!
      if (element in node) this.#refuse(`duplicate entries for key ${elementText(element)}`)
      node[element] = asMember(this.#field(element, items[index]!, shape) ?? LEAF)
    }
    return node
  }

  #refuse(message: string): void {
    this.errors.push(`${this.#path.map(elementText).join('')}: ${message}`)
  }
}

const asMember = (fields: FieldsV1): FieldsV1 => {
  for (const _ in fields) return { '.': LEAF, ...fields }
  return fields
}
