import type { Json } from '../api/meta/object.ts'
import type { Schema } from '../api/schema/schema.ts'
import { step } from './json-pointer.ts'
import { isObject } from './json-value.ts'
import { isInline } from './merge-shape.ts'

/**
 * Makes the structs on the way to a path that Go's types always have: clients add `/status/allocation` to objects that have
 * no status yet.
 */
export function addStructs(root: Json, schema: Schema | undefined, path: readonly string[]): void {
  let value: Json | undefined = root
  let type = schema
  for (const part of path.slice(0, -1)) {
    if (type === undefined) return
    const field: Schema | undefined = isObject(value) ? fieldOf(type, part) : type.items
    if (isObject(value) && !Object.hasOwn(value, part) && field?.properties && isInline(type, part)) value[part] = {}
    value = step(value, part)
    type = field
  }
}

const fieldOf = ({ properties, additionalProperties }: Schema, name: string): Schema | undefined =>
  properties && Object.hasOwn(properties, name) ? properties[name] : additionalProperties
