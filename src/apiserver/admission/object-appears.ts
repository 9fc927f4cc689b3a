import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Clock } from '../../base/clock.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'

/** Resolves with the object as soon as it is there, or with undefined when it did not come in time. */
export async function objectAppears<T extends KubernetesObject>(
  feed: CacheFeed,
  place: { readonly prefix: string; readonly key: string },
  clock: Clock,
  milliseconds: number,
): Promise<T | undefined> {
  const { prefix, key } = place
  const cache = await feed.cache(prefix)
  const found = cache.get(key)
  if (found) return found.object as T
  return new Promise((resolve) => {
    const done = (object: T | undefined) => {
      timer.cancel()
      subscription.end()
      resolve(object)
    }
    const timer = clock.after(milliseconds, () => done(undefined))
    const filter = { id: `appears ${key}`, keyPrefix: key, exactKey: true, matches: undefined }
    const subscription = cache.subscribe(filter, {
      deliver: ({ events }) => {
        const last = events.at(-1)
        if (last && last.type !== 'DELETED') done(last.object.object as T)
      },
      end: () => done(undefined),
    })
  })
}
