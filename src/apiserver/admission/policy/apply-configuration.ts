import type { Json, JsonObject, KubernetesObject } from '../../../api/meta/object.ts'
import type { Schema } from '../../../api/schema/schema.ts'
import { appliedFieldsOf } from '../../../patch/applied-fields.ts'
import { mergeConfiguration } from '../../../patch/apply-merge.ts'
import { cloneJson, isObject } from '../../../patch/json-value.ts'
import { fieldShape, type MergeShape, objectShapeOf } from '../../../patch/merge-shape.ts'

/** Why a mutation cannot be applied. */
export class MutationProblem extends Error {}

/** The object with a configuration laid over it, as a server-side apply merges it (KEP-555). */
export function applyConfiguration(object: KubernetesObject, configuration: Json, schema: Schema): KubernetesObject {
  if (!isObject(configuration)) throw new MutationProblem('the configuration must be an object')
  const shape = objectShapeOf(schema)
  const { errors } = appliedFieldsOf(configuration, shape)
  if (errors.length > 0) throw new MutationProblem(`invalid ApplyConfiguration: ${errors.join('; ')}`)
  const atomic = atomicFields(configuration, shape, '')
  if (atomic.length > 0)
    throw new MutationProblem(
      `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}`,
    )
  const copy = cloneJson(object as unknown as Json) as JsonObject
  mergeConfiguration(copy, configuration, shape)
  return copy as unknown as KubernetesObject
}

/** What is one piece would be replaced as a whole, and what others put there would be lost. */
function atomicFields(value: JsonObject, shape: MergeShape, path: string): string[] {
  return Object.keys(value).flatMap((name) => {
    const child = value[name]
    const below = fieldShape(shape, name)
    return child === undefined || !below ? [] : atomicValue(child, below, `${path}.${name}`)
  })
}

function atomicValue(value: Json, shape: MergeShape, path: string): string[] {
  if (Array.isArray(value)) {
    if (!shape.list) return [path]
    const { items } = shape.list
    return value.flatMap((item, i) => (isObject(item) ? atomicFields(item, items, `${path}[${i}]`) : []))
  }
  if (!isObject(value)) return []
  return shape.isAtomic ? [path] : atomicFields(value, shape, path)
}
