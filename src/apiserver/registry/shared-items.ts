import type { Json, JsonObject, KubernetesObject } from '../../api/meta/object.ts'
import type { DecodedBody } from '../../api/schema/decode.ts'
import { cloneJson } from '../../patch/json-value.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'

/** An object sent by a part of this process, with a list of which it has changed a few items at most. */
export interface SharedItems {
  readonly object: JsonObject
  readonly field: string
  /** Those of the stored object. Parts of the process are handed them and send them back. */
  readonly items: ReadonlySet<unknown>
}

/** What an update has in common with the stored object, where its kind allows to make use of it. */
export function sharedItems(request: ResourceRequest, current: CachedObject): SharedItems | undefined {
  const { kind, body, subresource } = request
  const field = kind.sharedItems
  if (field === undefined || body?.type !== 'object' || subresource !== '') return undefined
  const object = withoutKnown(body.object as KubernetesObject, current.object) as unknown as JsonObject
  const stored = listOf(current.object, field)
  return stored && Array.isArray(object[field]) ? { object, field, items: new Set(stored) } : undefined
}

/** Managed fields that are sent back as they were handed out mean the same as none. */
function withoutKnown(sent: KubernetesObject, known: KubernetesObject): KubernetesObject {
  const fields = sent.metadata?.managedFields
  if (!fields || fields !== known.metadata.managedFields) return sent
  const { managedFields: _, ...metadata } = sent.metadata
  return { ...sent, metadata }
}

/** A copy of the object that may be changed, but for the items that are shared. */
export function privateBut({ object, field, items }: SharedItems): DecodedBody {
  const copy = cloneJson({ ...object, [field]: [] }) as JsonObject
  copy[field] = (object[field] as Json[]).map((item) => (items.has(item) ? item : cloneJson(item)))
  return { value: copy, keys: -1, duplicates: [], text: '' }
}

export function listOf(object: KubernetesObject, field: string): readonly unknown[] | undefined {
  const list = (object as unknown as Record<string, unknown>)[field]
  return Array.isArray(list) ? list : undefined
}
