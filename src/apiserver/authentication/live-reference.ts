import type { KubernetesObject } from '../../api/meta/object.ts'
import { parseTime } from '../../api/meta/time.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'

/** An object goes on counting for so long after the time it was to be gone. */
const LEEWAY_MS = 60_000

/** An object that must exist, as the same one, for something to hold. Looked at again only when it has changed. */
export class LiveReference {
  readonly #prefix: string
  readonly #key: string
  readonly #uid: string | undefined
  readonly #accepts: (object: KubernetesObject) => boolean
  #seen: CachedObject | undefined

  constructor(
    plural: string,
    { namespace, name, uid }: { namespace: string; name: string; uid?: string },
    accepts: (object: KubernetesObject) => boolean = () => true,
  ) {
    this.#prefix = storagePrefix({ group: '', plural })
    this.#key = namespace ? `${this.#prefix}${namespace}/${name}` : this.#prefix + name
    this.#uid = uid
    this.#accepts = accepts
  }

  isLoaded(feed: CacheFeed): boolean {
    return feed.loaded(this.#prefix) !== undefined
  }

  async load(feed: CacheFeed): Promise<void> {
    await feed.cache(this.#prefix)
  }

  /** Whether it is still there. The cache must be loaded. */
  holds(feed: CacheFeed, now: number): boolean {
    const found = feed.loaded(this.#prefix)?.get(this.#key)
    if (!found) return false
    if (found === this.#seen) return true
    const { uid, deletionTimestamp } = found.object.metadata
    if ((this.#uid !== undefined && uid !== this.#uid) || !this.#accepts(found.object)) return false
    if (!deletionTimestamp) this.#seen = found
    return !deletionTimestamp || now <= (parseTime(deletionTimestamp) ?? 0) + LEEWAY_MS
  }
}
