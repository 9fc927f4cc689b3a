import type { KubernetesObject } from '../../api/meta/object.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import type { ResourceCache } from '../watch-cache/resource-cache.ts'

/** What a plugin reads of a resource. At once where the resource is in memory already; nobody may change the objects. */
export interface Lister<T extends KubernetesObject> {
  get(name: string): Promise<T | undefined> | T | undefined
  /** The labels of an object, which are kept longer than its parsed form. */
  labels(name: string): Promise<Labels> | Labels
  /** All objects, or those of a namespace. Without a namespace it is the same array until one of them changes. */
  list(namespace?: string): Promise<readonly T[]> | readonly T[]
}

type Labels = Readonly<Record<string, string>> | undefined

const NONE: readonly never[] = []

/** Reads the watch cache of a resource. `get` is for resources without namespaces. */
export function cacheLister<T extends KubernetesObject>(feed: CacheFeed, prefix: string): Lister<T> {
  let all: { cache: ResourceCache; revision: number; objects: readonly T[] } | undefined
  const read = (cache: ResourceCache, namespace?: string): readonly T[] => {
    if (cache.size === 0) return NONE
    if (namespace !== undefined) return select<T>(cache, `${prefix}${namespace}/`)
    if (all?.cache !== cache || all.revision !== cache.lastChange) {
      all = { cache, revision: cache.lastChange, objects: select<T>(cache, prefix) }
    }
    return all.objects
  }
  const find = (cache: ResourceCache, name: string) => cache.get(prefix + name)?.object as T | undefined
  return {
    get(name) {
      const cache = feed.loaded(prefix)
      return cache ? find(cache, name) : feed.cache(prefix).then((loaded) => find(loaded, name))
    },
    labels(name) {
      const cache = feed.loaded(prefix)
      const find = (loaded: ResourceCache) => loaded.get(prefix + name)?.labels
      return cache ? find(cache) : feed.cache(prefix).then(find)
    },
    list(namespace) {
      const cache = feed.loaded(prefix)
      return cache ? read(cache, namespace) : feed.cache(prefix).then((loaded) => read(loaded, namespace))
    },
  }
}

function select<T extends KubernetesObject>(cache: ResourceCache, keyPrefix: string): T[] {
  return cache
    .select({ id: keyPrefix, keyPrefix, exactKey: false, matches: undefined })
    .map(({ object }) => object as T)
}
