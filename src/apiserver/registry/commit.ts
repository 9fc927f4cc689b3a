import { serviceUnavailable } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { type Condition, ConflictError, UnavailableError, type Write } from '../../store/store.ts'
import type { Allocation } from '../objects/allocation.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import { type EncodedObject, encodeObject, stamped } from '../watch-cache/encoding.ts'
import { catchUp, type Machinery, type Target } from './machinery.ts'
import { MAX_STORED_BYTES, refuseOversized } from './stored-size.ts'

export const NO_ALLOCATION: Allocation = { conditions: [], writes: [] }

/**
 * Writes an object and everything allocated for it in one transaction, if it is still at `expected` (0: absent).
 * `known` is the draft encoded, where that is known already and the draft is stored as it is.
 * Resolves when the caches have it too, so whoever is told of the write can read it. Throws `ConflictError`.
 */
export async function commitObject(
  machinery: Machinery,
  target: Pick<Target, 'key' | 'prefix' | 'form'>,
  expected: number,
  draft: KubernetesObject,
  allocation: Allocation,
  known?: EncodedObject,
): Promise<CachedObject> {
  const stored = target.form ? await target.form.write(draft) : draft
  const encoded = known ?? encodeObject(stored)
  if (encoded.value.length > MAX_STORED_BYTES) await refuseOversized(encoded)
  const write: Write = { key: target.key, value: encoded.value, revisionSlot: encoded.revisionSlot }
  const takeBack = machinery.feed.loaded(target.prefix)?.announce(target.key, encoded)
  const revision = await commit(machinery, [{ key: target.key, revision: expected }], [write], allocation).finally(
    takeBack,
  )
  if (stored !== draft)
    return new CachedObject({ key: target.key, value: stamped(encodeObject(draft), revision), revision })
  const cached = machinery.feed.loaded(target.prefix)?.get(target.key)
  if (cached?.revision === revision) return cached
  encoded.object.metadata.resourceVersion = String(revision)
  return new CachedObject({ key: target.key, value: stamped(encoded, revision), revision }, encoded.object)
}

/** Deletes the object and releases what it held. */
export function commitDeletion(
  machinery: Machinery,
  target: Pick<Target, 'key'>,
  expected: number,
  released: Allocation,
): Promise<number> {
  return commit(machinery, [{ key: target.key, revision: expected }], [{ key: target.key }], released)
}

async function commit(
  machinery: Machinery,
  conditions: Condition[],
  writes: Write[],
  allocation: Allocation,
): Promise<number> {
  try {
    const revision = await machinery.store.commit(
      allocation.conditions.length === 0 ? conditions : [...conditions, ...allocation.conditions],
      allocation.writes.length === 0 ? writes : [...writes, ...allocation.writes],
    )
    if (machinery.feed.revision < revision) await machinery.feed.reached(revision)
    return revision
  } catch (error) {
    if (error instanceof ConflictError) await catchUp(machinery)
    if (error instanceof UnavailableError) throw serviceUnavailable(`the store cannot take writes: ${error.message}`)
    throw error
  }
}
