import type { Kind } from '../../api/kind.ts'
import { apiVersionOf, type KubernetesObject } from '../../api/meta/object.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import { setTypeMeta } from './object-meta.ts'

const converted = new WeakMap<CachedObject, Map<string, CachedObject>>()

/** A stored object in the version of `kind`; the same object if it is stored in that version. */
export function inVersion(kind: Kind, stored: CachedObject): CachedObject {
  if (!kind.conversion) return stored
  const versions = getOrCreate(converted, stored, () => new Map<string, CachedObject>())
  return getOrCreate(versions, apiVersionOf(kind), () => convert(kind, stored))
}

function convert(kind: Kind, stored: CachedObject): CachedObject {
  const draft: KubernetesObject = stored.draft()
  kind.conversion!.fromStorage(draft)
  setTypeMeta(draft, kind)
  const { kind: name, apiVersion, metadata, ...rest } = draft
  const value = Buffer.from(JSON.stringify({ kind: name, apiVersion, metadata, ...rest }))
  return new CachedObject({ key: stored.key, value, revision: stored.revision })
}
