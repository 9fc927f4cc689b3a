import type { KubernetesObject } from '../../api/meta/object.ts'

/**
 * The stored form of an object: JSON that begins with kind, apiVersion and metadata, so that the resourceVersion has
 * a known place. It is left out here and written by the store's revision slot, which is why one serialisation serves
 * the log, the response and every watcher.
 */
export interface EncodedObject {
  readonly value: Buffer
  readonly revisionSlot: number
  /** What reading the bytes will give, but for the resourceVersion; shares its parts with the object encoded. */
  readonly object: KubernetesObject
}

const RESOURCE_VERSION = '"resourceVersion":"'

export function encodeObject(object: KubernetesObject): EncodedObject {
  const { kind, apiVersion, metadata, ...rest } = object
  const whole = { kind, apiVersion, metadata: { resourceVersion: '', ...metadata }, ...rest } as KubernetesObject
  whole.metadata.resourceVersion = ''
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":{${RESOURCE_VERSION}`
  return { value: Buffer.from(JSON.stringify(whole)), revisionSlot: Buffer.byteLength(head), object: whole }
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

/** Whether these are the bytes that the store hands back for a commit at this revision. */
export function isStampOf({ value, revisionSlot }: EncodedObject, stored: Buffer, revision: number): boolean {
  const digits = String(revision)
  const rest = revisionSlot + digits.length
  if (stored.length !== value.length + digits.length) return false
  return (
    stored.toString('latin1', revisionSlot, rest) === digits &&
    stored.compare(value, 0, revisionSlot, 0, revisionSlot) === 0 &&
    stored.compare(value, revisionSlot, value.length, rest) === 0
  )
}

/** An object that was not stored (dry run): all but a resourceVersion it never got. */
export function unstored(object: KubernetesObject): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata, ...rest }))
}
