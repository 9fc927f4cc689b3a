import { ApiError } from '../api/meta/api-error.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { ObjectIndex } from './cache/object-index.ts'
import type { ResourceClient } from './client.ts'

/** One object changed: `old` is undefined when it came, `new` when it went. */
export interface ObjectChange<T> {
  /** `namespace/name`, or `name` where there are no namespaces. */
  readonly key: string
  readonly old: T | undefined
  readonly new: T | undefined
}

/**
 * A local copy of a resource, kept up to date by list and watch. Objects are shared: never change them.
 * - A listener first hears of everything that is there, then of each change, in order, once.
 * - After a lost connection the watch goes on where it stopped; if the server has forgotten that place, the copy is
 *   compared with a fresh list and only the differences are told.
 */
export interface Informer<T extends KubernetesObject> extends AsyncDisposable {
  /** Resolves when the first list is in. */
  readonly synced: Promise<void>
  readonly hasSynced: boolean
  get(key: string): T | undefined
  /** All objects, or those of one namespace. */
  list(namespace?: string): T[]
  /** The objects that an index files under a value. */
  byIndex(index: string, value: string): readonly T[]
  /** Adds an index; one that exists under this name stays. May be called at any time. */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void
  /** Returns how to stop listening. */
  onChange(listener: (change: ObjectChange<T>) => void): () => void
}

export interface InformerOptions {
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

export interface InformerContext {
  readonly clock: Clock
  readonly log: Logger
}

export const keyOf = (object: KubernetesObject): string =>
  object.metadata.namespace ? `${object.metadata.namespace}/${object.metadata.name}` : object.metadata.name!

const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 30_000

export function startInformer<T extends KubernetesObject>(
  resource: ResourceClient<T>,
  context: InformerContext,
  options: InformerOptions = {},
): Informer<T> {
  return new ListWatchInformer(resource, context, options)
}

class ListWatchInformer<T extends KubernetesObject> implements Informer<T> {
  readonly synced: Promise<void>
  hasSynced = false
  readonly #resource: ResourceClient<T>
  readonly #context: InformerContext
  readonly #options: InformerOptions
  readonly #objects = new ObjectIndex<T>()
  readonly #listeners = new Set<(change: ObjectChange<T>) => void>()
  readonly #stop = new AbortController()
  readonly #running: Promise<void>
  #markSynced = () => {}
  #failures = 0

  constructor(resource: ResourceClient<T>, context: InformerContext, options: InformerOptions) {
    this.#resource = resource
    this.#context = context
    this.#options = options
    this.synced = new Promise((resolve) => {
      this.#markSynced = resolve
    })
    this.#running = this.#run()
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  list(namespace?: string): T[] {
    return namespace === undefined ? this.#objects.all() : this.#objects.inNamespace(namespace)
  }

  byIndex(index: string, value: string): readonly T[] {
    return this.#objects.byIndex(index, value)
  }

  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void {
    this.#objects.addIndex(name, valuesOf)
  }

  onChange(listener: (change: ObjectChange<T>) => void): () => void {
    for (const object of this.#objects.all()) listener({ key: keyOf(object), old: undefined, new: object })
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#listeners.clear()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    let version: string | undefined
    while (!signal.aborted) {
      try {
        version ??= await this.#list(signal)
        version = await this.#watch(version, signal)
      } catch (error) {
        if (signal.aborted) return
        if (isExpired(error)) version = undefined
        else await this.#pause(error, signal)
      }
    }
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, metadata } = await this.#resource.list({ ...this.#options, signal })
    const seen = new Set<string>()
    for (const object of items) {
      seen.add(keyOf(object))
      this.#put(object)
    }
    for (const object of this.#objects.all()) if (!seen.has(keyOf(object))) this.#remove(keyOf(object))
    this.#failures = 0
    this.hasSynced = true
    this.#markSynced()
    return metadata.resourceVersion ?? ''
  }

  /** Follows changes until the server ends the watch; returns how far it came. */
  async #watch(from: string, signal: AbortSignal): Promise<string> {
    let version = from
    try {
      const events = this.#resource.watch({
        ...this.#options,
        resourceVersion: from,
        allowWatchBookmarks: true,
        signal,
      })
      for await (const batch of events) {
        for (const { type, object } of batch) {
          if (type === 'DELETED') this.#remove(keyOf(object))
          else if (type !== 'BOOKMARK') this.#put(object)
          version = object.metadata.resourceVersion ?? version
        }
        this.#failures = 0
      }
      return version
    } catch (error) {
      // What has been seen is not seen again; only a lost place means a new list.
      if (isExpired(error) || signal.aborted) throw error
      await this.#pause(error, signal)
      return version
    }
  }

  #put(object: T): void {
    const key = keyOf(object)
    const old = this.#objects.get(key)
    if (old && old.metadata.resourceVersion === object.metadata.resourceVersion) return
    this.#objects.set(key, object)
    this.#tell({ key, old, new: object })
  }

  #remove(key: string): void {
    const old = this.#objects.get(key)
    if (!old) return
    this.#objects.delete(key)
    this.#tell({ key, old, new: undefined })
  }

  #tell(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (error) {
        this.#context.log.error('a listener of an informer failed', { key: change.key, error: String(error) })
      }
    }
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const delay = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LONGEST_RETRY_MS)
    this.#context.log.debug('list or watch failed; trying again', { delay, error: String(error) })
    await this.#context.clock.sleep(delay, signal).catch(() => {})
  }
}

const isExpired = (error: unknown) => error instanceof ApiError && error.code === 410
