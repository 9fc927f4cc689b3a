import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Clock } from '../../base/clock.ts'
import type { CacheFeed } from './cache-feed.ts'
import type { CachedObject } from './cached-object.ts'
import type { ResourceCache } from './resource-cache.ts'
import { storagePrefix } from './storage-key.ts'

/** Told of each object of a resource, now and whenever it changes; undefined when it is gone. */
export type Follower = (namespace: string, name: string, object: KubernetesObject | undefined) => void

export interface FollowContext {
  readonly feed: CacheFeed
  readonly clock: Clock
  readonly signal: AbortSignal
}

const RETRY_MS = 500

/**
 * Follows a resource until the signal aborts, without missing anything: also when its cache is replaced by another.
 * Resolves when the follower has been told of all there is.
 */
export async function follow(
  context: FollowContext,
  resource: { group: string; plural: string },
  follower: Follower,
): Promise<void> {
  const prefix = storagePrefix(resource)
  const known = new Set<string>()
  const tell = (key: string, object: CachedObject | undefined) => {
    const path = key.slice(prefix.length)
    const slash = path.indexOf('/')
    if (object) known.add(key)
    else known.delete(key)
    follower(slash < 0 ? '' : path.slice(0, slash), path.slice(slash + 1), object?.object)
  }
  const attach = (cache: ResourceCache) => {
    const filter = { id: `followed ${prefix}`, keyPrefix: prefix, exactKey: false, matches: undefined }
    const objects = cache.select(filter)
    const present = new Set(objects.map(({ key }) => key))
    for (const key of [...known]) if (!present.has(key)) tell(key, undefined)
    for (const object of objects) tell(object.key, object)
    const subscription = cache.subscribe(filter, {
      deliver(batch) {
        for (const { type, object } of batch.events) tell(object.key, type === 'DELETED' ? undefined : object)
      },
      end() {
        subscription.end()
        void reattach()
      },
    })
    context.signal.addEventListener('abort', subscription.end, { once: true })
  }
  const reattach = async () => {
    while (!context.signal.aborted) {
      try {
        return attach(await context.feed.cache(prefix))
      } catch {
        await context.clock.sleep(RETRY_MS, context.signal).catch(() => {})
      }
    }
  }
  attach(context.feed.loaded(prefix) ?? (await context.feed.cache(prefix)))
}
