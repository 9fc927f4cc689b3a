import type { JsonObject, KubernetesObject } from '../api/meta/object.ts'
import { ANNOTATION } from '../api/meta/well-known.ts'
import { appliedFieldsOf } from './applied-fields.ts'
import { compareFields } from './compare-fields.ts'
import { difference, type FieldSet, setOf } from './field-set.ts'
import { cloneJson, isObject, setField } from './json-value.ts'
import type { MergeShape } from './merge-shape.ts'

/** Where client-side apply keeps what it applied. */
export const LAST_APPLIED = ANNOTATION.lastApplied
/** The manager name of `kubectl apply --server-side`; only it takes over from client-side apply. */
export const KUBECTL = 'kubectl'
const ANNOTATIONS_MAX_BYTES = 256 * 1024

/**
 * Fields that client-side apply set and that still have its value: moving to server-side apply takes them over
 * without a conflict.
 */
export function fieldsLastApplied(object: KubernetesObject, shape: MergeShape): FieldSet {
  const text = object.metadata.annotations?.[LAST_APPLIED]
  if (!text) return undefined
  const configuration = parse(text)
  if (!configuration) return undefined
  const fields = setOf(appliedFieldsOf(configuration, shape).set)
  const { changed, removed } = compareFields(configuration, object as unknown as JsonObject, shape)
  return difference(difference(fields, changed), removed)
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Keeps the annotation true for those who go back to client-side apply; objects without it stay without. */
export function refreshLastApplied(draft: KubernetesObject, configuration: JsonObject): void {
  const annotations = draft.metadata.annotations
  if (!annotations?.[LAST_APPLIED]) return
  const copy = cloneJson(configuration) as JsonObject
  if (isObject(copy.metadata)) {
    delete copy.metadata.managedFields
    if (isObject(copy.metadata.annotations)) delete copy.metadata.annotations[LAST_APPLIED]
    else setField(copy.metadata, 'annotations', {})
  }
  const text = `${JSON.stringify(copy)}\n`
  let size = Buffer.byteLength(text)
  for (const name in annotations)
    if (name !== LAST_APPLIED) size += Buffer.byteLength(name) + Buffer.byteLength(annotations[name]!)
  if (size + LAST_APPLIED.length <= ANNOTATIONS_MAX_BYTES) annotations[LAST_APPLIED] = text
  else delete annotations[LAST_APPLIED]
}
