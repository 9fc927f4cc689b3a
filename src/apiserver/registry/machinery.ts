import type { Clock } from '../../base/clock.ts'
import type { KeyLock } from '../../base/key-lock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import type { Store } from '../../store/store.ts'
import type { AdmissionChain } from '../admission/chain.ts'
import type { KindPlace, KindTable } from '../kind-table.ts'
import type { Allocator } from '../objects/allocation.ts'
import { readOne } from '../objects/stored-form.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import type { ResourceCache } from '../watch-cache/resource-cache.ts'
import { objectKey } from '../watch-cache/storage-key.ts'

/** What the verbs work with. */
export interface Machinery {
  readonly store: Store
  readonly feed: CacheFeed
  readonly kinds: KindTable
  readonly admission: AdmissionChain
  /** By `plural.group` of the kinds that take from shared pools. */
  readonly allocators: ReadonlyMap<string, Allocator>
  readonly locks: KeyLock
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Others write to the same store too: a consistent read asks it how far it is. */
  readonly sharedStore: boolean
  /** Throws 403 unless whoever changes an object that does not exist may create it. */
  mayCreate(request: ResourceRequest): void | Promise<void>
}

/** The place a request is about. */
export interface Target extends KindPlace {
  readonly key: string
}

export function targetOf(machinery: Machinery, request: ResourceRequest, name = request.name): Target {
  const { storage, prefix, ref, form } = machinery.kinds.placeOf(request.kind)
  const key = objectKey(prefix, storage.namespaced, request.namespace, name)
  return form ? { storage, prefix, ref, key, form } : { storage, prefix, ref, key }
}

export function cacheOf(machinery: Machinery, prefix: string): ResourceCache | Promise<ResourceCache> {
  return machinery.feed.loaded(prefix) ?? machinery.feed.cache(prefix)
}

/** Makes sure that whatever was acknowledged before now is in the caches. */
export async function catchUp(machinery: Machinery): Promise<void> {
  await machinery.feed.reached(await machinery.store.revision())
}

/** The object as it is now, for a change that the commit's condition will check. */
export function readForUpdate(
  machinery: Machinery,
  target: Target,
): CachedObject | undefined | Promise<CachedObject | undefined> {
  const known = target.form ? undefined : machinery.feed.loaded(target.prefix)?.get(target.key)
  return known ?? readLatest(machinery, target)
}

async function readLatest(machinery: Machinery, target: Target): Promise<CachedObject | undefined> {
  let found = (await cacheOf(machinery, target.prefix)).get(target.key)
  if (!found && machinery.sharedStore) {
    await catchUp(machinery)
    found = (await cacheOf(machinery, target.prefix)).get(target.key)
  }
  return found && target.form ? readOne(target.form, found) : found
}
