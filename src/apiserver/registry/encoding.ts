import type { KubernetesObject } from '../../api/meta/object.ts'

/**
 * The stored form of an object: JSON that begins with kind, apiVersion and metadata, so that the resourceVersion has
 * a known place. It is left out here and written by the store's revision slot, which is why one serialisation serves
 * the log, the response and every watcher.
 */
export interface EncodedObject {
  readonly value: Buffer
  readonly revisionSlot: number
}

const RESOURCE_VERSION = '"resourceVersion":"'

export function encodeObject(object: KubernetesObject): EncodedObject {
  const { kind, apiVersion, metadata, ...rest } = object
  const { resourceVersion: _, ...meta } = metadata
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":{${RESOURCE_VERSION}`
  const metaJson = JSON.stringify(meta)
  const restJson = JSON.stringify(rest)
  const tail = `"${metaJson === '{}' ? '}' : `,${metaJson.slice(1)}`}${restJson === '{}' ? '}' : `,${restJson.slice(1)}`}`
  return { value: Buffer.from(head + tail), revisionSlot: Buffer.byteLength(head) }
}

/** The same stored bytes with another resourceVersion, as the DELETED event of an object carries. */
export function withRevision(stored: Buffer, revision: number): Buffer {
  const start = stored.indexOf(RESOURCE_VERSION) + RESOURCE_VERSION.length
  const end = stored.indexOf(0x22, start)
  return Buffer.concat([stored.subarray(0, start), Buffer.from(String(revision)), stored.subarray(end)])
}

/** The bytes the store will hand back for this commit. */
export function stamped(encoded: EncodedObject, revision: number): Buffer {
  const { value, revisionSlot } = encoded
  return Buffer.concat([value.subarray(0, revisionSlot), Buffer.from(String(revision)), value.subarray(revisionSlot)])
}

/** An object that was not stored (dry run): all but a resourceVersion it never got. */
export function unstored(object: KubernetesObject): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata, ...rest }))
}
