import { matchesLabels, type Selector } from '../api/meta/label-selector.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { ObjectCache } from './cache/object-cache.ts'
import { Reflector } from './cache/reflector.ts'
import type { ResourceType, Transport } from './transport.ts'

/**
 * All objects of a resource, kept current by a watch. Guarantees:
 * - Every change is seen once, in order: (undefined, new), (old, new), (old, undefined).
 * - A lost connection resumes from the last seen revision; if the server has forgotten it, the difference to a fresh
 *   list is told as changes. Nothing is lost, nothing told that did not happen; steps in between may fall together.
 * - Reads show at least what listeners have been told.
 * - Objects are shared: never change them.
 */
export interface Informer<T extends KubernetesObject = KubernetesObject> extends AsyncDisposable {
  /** Resolves after the first list; rejects if the informer is disposed before. */
  readonly synced: Promise<void>
  readonly isSynced: boolean
  /** By `namespace/name`, or `name` for what has no namespace. */
  get(key: string): T | undefined
  list(selector?: Selector): T[]
  /** Objects for which the index gave this value. */
  byIndex(index: string, value: string): T[]
  /** Adds indexes, also to a filled informer. The same name must always mean the same function. */
  addIndexes(indexes: Indexes<T>): void
  /** Called for each change; first for each object that is there already. Returns what ends it. */
  onChange(listener: Listener<T>): () => void
}

export type Listener<T> = (old: T | undefined, current: T | undefined) => void
export type Indexes<T> = Readonly<Record<string, (object: T) => readonly string[]>>

export interface InformerOptions<T extends KubernetesObject> {
  readonly transport: Transport
  readonly resource: ResourceType
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly indexes?: Indexes<T>
  /** Ask for the first list as a stream (KEP-3157) instead of one answer. */
  readonly watchList?: boolean
  /** Drops what this informer does not need, before an object is kept; by default metadata.managedFields. */
  readonly transform?: (object: T) => T
}

/** `namespace/name`, or `name`. */
export function objectKey(object: KubernetesObject): string {
  const { namespace, name = '' } = object.metadata
  return namespace ? `${namespace}/${name}` : name
}

/** The index most controllers want. */
export const byNamespace = (object: KubernetesObject): readonly string[] => [object.metadata.namespace ?? '']

export function startInformer<T extends KubernetesObject>(options: InformerOptions<T>): Informer<T> {
  const { log, resource } = options
  const cache = new ObjectCache<T>(objectKey, (error) =>
    log.error('a listener of an informer failed', { resource: resource.plural, error }),
  )
  cache.addIndexes(options.indexes ?? {})
  const stop = new AbortController()
  let isSynced = false
  let finish = { resolve: () => {}, reject: (_: unknown) => {} }
  const synced = new Promise<void>((resolve, reject) => {
    finish = { resolve, reject }
  })
  // Whoever waits sees the rejection; if nobody does, it must not end the process.
  synced.catch(() => {})
  const reflector = new Reflector<T>(options, cache, () => {
    isSynced = true
    finish.resolve()
  })
  const running = reflector.run(stop.signal)
  return {
    synced,
    get isSynced() {
      return isSynced
    },
    get: (key) => cache.get(key),
    list: (selector) =>
      selector ? cache.list().filter((object) => matchesLabels(selector, object.metadata.labels)) : cache.list(),
    byIndex: (index, value) => cache.byIndex(index, value),
    addIndexes: (indexes) => cache.addIndexes(indexes),
    onChange: (listener) => cache.onChange(listener),
    async [Symbol.asyncDispose]() {
      stop.abort()
      if (!isSynced) finish.reject(new Error('the informer was stopped before it had synced'))
      await running
    },
  }
}
