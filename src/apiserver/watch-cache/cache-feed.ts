import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Change, ChangeBatch, Store } from '../../store/store.ts'
import { CachedObject } from './cached-object.ts'
import { ResourceCache } from './resource-cache.ts'

const ROOT = '/registry/'

/**
 * Keeps every resource's cache in step with the store. One watch of the whole store feeds them all, so there is one
 * answer to "has everything up to revision N been seen?". A cache is loaded when its resource is first asked for.
 */
export class CacheFeed implements AsyncDisposable {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Logger
  readonly #caches = new Map<string, ResourceCache>()
  readonly #loading = new Map<string, Promise<ResourceCache>>()
  /** What happened to a resource while it was being loaded. */
  readonly #missed = new Map<string, (readonly Change[])[]>()
  readonly #waiters: { revision: number; resolve: () => void }[] = []
  readonly #stop = new AbortController()
  #revision = 0
  #running: Promise<void> = Promise.resolve()

  constructor(store: Store, clock: Clock, log: Logger) {
    this.#store = store
    this.#clock = clock
    this.#log = log
  }

  async start(): Promise<void> {
    this.#revision = await this.#store.revision()
    this.#running = this.#run()
  }

  /** Everything up to here is in the caches. */
  get revision(): number {
    return this.#revision
  }

  /** The cache of a resource if it is loaded: the fast way. */
  loaded(prefix: string): ResourceCache | undefined {
    return this.#caches.get(prefix)
  }

  cache(prefix: string): Promise<ResourceCache> {
    const known = this.#caches.get(prefix)
    if (known) return Promise.resolve(known)
    let loading = this.#loading.get(prefix)
    if (!loading) {
      loading = this.#load(prefix).finally(() => this.#loading.delete(prefix))
      this.#loading.set(prefix, loading)
    }
    return loading
  }

  /** Resolves when everything up to this revision is in the caches; false if that took longer than the signal lets. */
  async reached(revision: number, signal?: AbortSignal): Promise<boolean> {
    if (this.#revision >= revision) return true
    this.#store.requestProgress()
    return new Promise((resolve) => {
      const waiter = { revision, resolve: () => resolve(true) }
      this.#waiters.push(waiter)
      signal?.addEventListener('abort', () => {
        const index = this.#waiters.indexOf(waiter)
        if (index >= 0) this.#waiters.splice(index, 1)
        resolve(false)
      })
    })
  }

  caches(): Iterable<[string, ResourceCache]> {
    return this.#caches
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#dropCaches()
    await this.#running
  }

  async #load(prefix: string): Promise<ResourceCache> {
    const missed: (readonly Change[])[] = []
    this.#missed.set(prefix, missed)
    try {
      const page = await this.#store.list(prefix)
      const objects = page.entries.map((entry) => new CachedObject(entry))
      const cache = new ResourceCache(prefix, objects, page.revision, this.#clock)
      for (const changes of missed) cache.apply(changes)
      this.#caches.set(prefix, cache)
      return cache
    } finally {
      this.#missed.delete(prefix)
    }
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        for await (const batch of this.#store.watch(ROOT, this.#revision, this.#stop.signal)) this.#take(batch)
      } catch (error) {
        if (this.#stop.signal.aborted) return
        this.#log.error('the store ended the watch that feeds the caches; starting afresh', { error: String(error) })
        await this.#restart()
      }
    }
  }

  /** Whatever the caches missed cannot be told to their watchers: they end, and clients list again. */
  async #restart(): Promise<void> {
    this.#dropCaches()
    this.#advance(await this.#store.revision())
  }

  #dropCaches(): void {
    for (const cache of this.#caches.values()) cache.close()
    this.#caches.clear()
  }

  #take(batch: ChangeBatch): void {
    const { changes } = batch
    if (changes.length === 1) this.#dispatch(prefixOf(changes[0]!.key), changes)
    else if (changes.length > 1) for (const [prefix, group] of byPrefix(changes)) this.#dispatch(prefix, group)
    this.#advance(batch.revision)
  }

  #dispatch(prefix: string, changes: readonly Change[]): void {
    const cache = this.#caches.get(prefix)
    if (cache) cache.apply(changes)
    else this.#missed.get(prefix)?.push(changes)
  }

  #advance(revision: number): void {
    if (revision > this.#revision) this.#revision = revision
    if (this.#waiters.length === 0) return
    for (let i = this.#waiters.length - 1; i >= 0; i--) {
      const waiter = this.#waiters[i]!
      if (waiter.revision > this.#revision) continue
      this.#waiters.splice(i, 1)
      waiter.resolve()
    }
  }
}

/** `/registry/pods/default/a` -> `/registry/pods/` */
function prefixOf(key: string): string {
  return key.slice(0, key.indexOf('/', ROOT.length) + 1)
}

function byPrefix(changes: readonly Change[]): Map<string, Change[]> {
  const groups = new Map<string, Change[]>()
  for (const change of changes) {
    const prefix = prefixOf(change.key)
    const group = groups.get(prefix)
    if (group) group.push(change)
    else groups.set(prefix, [change])
  }
  return groups
}
