import { ApiError } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import type { InformerOptions } from '../informer.ts'
import type { WatchEvent } from '../transport.ts'
import type { ObjectCache } from './object-cache.ts'

/** Milliseconds between attempts after failures: doubling, with chance, as long as they go on. */
const FIRST_BACKOFF = 100
const MAX_BACKOFF = 30_000
/** A watch that ends sooner, with nothing to tell, counts as a failure: asking again at once would be a busy loop. */
const SHORT_WATCH = 1000
/** Seconds. Watches end now and then so that servers can balance them; not all at the same time. */
const MIN_WATCH_SECONDS = 300
const PAGE_SIZE = '500'

/** Lists, then watches, for ever: brings a cache to the state of the server and keeps it there. */
export class Reflector<T extends KubernetesObject> {
  readonly #options: InformerOptions<T>
  readonly #cache: ObjectCache<T>
  readonly #onSynced: () => void
  /** Everything up to here is in the cache; undefined until listed, and when the server has forgotten it. */
  #revision: string | undefined
  #hasListed = false
  #failures = 0

  constructor(options: InformerOptions<T>, cache: ObjectCache<T>, onSynced: () => void) {
    this.#options = options
    this.#cache = cache
    this.#onSynced = onSynced
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#revision === undefined)
          await (this.#options.watchList ? this.#streamList(signal) : this.#list(signal))
        await this.#watch(signal)
      } catch (error) {
        if (signal.aborted) return
        this.#failed(error)
      }
      if (this.#failures > 0) await this.#backOff(signal)
    }
  }

  /** In pages, so that of a large resource only what `transform` leaves is ever held as a whole. */
  async #list(signal: AbortSignal): Promise<void> {
    const objects: T[] = []
    // The first list may come from the server's cache; after a 410 only the newest state will do.
    let where: Record<string, string> | undefined = this.#hasListed ? {} : { resourceVersion: '0' }
    let revision = ''
    while (where) {
      const query: Record<string, string> = { ...this.#selectors(), ...where, limit: PAGE_SIZE }
      const answer = await this.#options.transport.call({ verb: 'list', ...this.#where(), query, signal })
      for (const object of (answer.items ?? []) as readonly T[]) objects.push(this.#kept(object))
      revision = answer.metadata?.resourceVersion ?? ''
      where = answer.metadata?.continue ? { continue: answer.metadata.continue } : undefined
    }
    this.#replace(objects, revision)
  }

  #kept(object: T): T {
    const { transform = withoutManagedFields } = this.#options
    return transform(object)
  }

  /** KEP-3157: the list as added events, ended by a bookmark. */
  async #streamList(signal: AbortSignal): Promise<void> {
    const query = {
      ...this.#watchQuery(),
      resourceVersion: '',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    }
    const objects = new Map<string, T>()
    let listed = false
    await this.#eachEvent(query, signal, (event) => {
      const object = event.object as T
      if (listed) return this.#apply(event)
      const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`
      if (event.type === 'DELETED') objects.delete(key)
      else if (event.type !== 'BOOKMARK') objects.set(key, this.#kept(object))
      else if (object.metadata.annotations?.[ANNOTATION.initialEventsEnd] === 'true') {
        listed = true
        this.#replace([...objects.values()], object.metadata.resourceVersion ?? '')
      }
    })
  }

  #replace(objects: readonly T[], revision: string): void {
    this.#cache.replace(objects)
    this.#revision = revision
    this.#failures = 0
    if (this.#hasListed) return
    this.#hasListed = true
    this.#onSynced()
  }

  async #watch(signal: AbortSignal): Promise<void> {
    if (this.#revision === undefined || signal.aborted) return
    const begin = this.#options.clock.now()
    let events = 0
    await this.#eachEvent({ ...this.#watchQuery(), resourceVersion: this.#revision }, signal, (event) => {
      events++
      this.#failures = 0
      this.#apply(event)
    })
    if (events === 0 && this.#options.clock.now() - begin < SHORT_WATCH) this.#failures++
  }

  async #eachEvent(query: Record<string, string>, signal: AbortSignal, handle: (event: WatchEvent) => void) {
    for await (const batch of this.#options.transport.watch({ ...this.#where(), query, signal })) {
      // What a transport still had in hand when the informer was stopped is not told any more.
      if (signal.aborted) return
      for (const event of batch) handle(event)
    }
  }

  #apply(event: WatchEvent): void {
    if (event.type === 'ERROR') return
    if (event.type === 'DELETED') this.#cache.delete(event.object as T)
    else if (event.type !== 'BOOKMARK') {
      this.#cache.set(this.#kept(event.object as T))
    }
    this.#revision = event.object.metadata.resourceVersion ?? this.#revision
  }

  #failed(error: unknown): void {
    const { log, resource } = this.#options
    if (isForgotten(error)) {
      this.#revision = undefined
      log.debug('listing again', { resource: resource.plural, reason: (error as Error).message })
      // At once the first time; a server that keeps saying so gets pauses.
      this.#failures = this.#failures === 0 && this.#hasListed ? 0 : this.#failures + 1
      return
    }
    this.#failures++
    log.warn('watching failed, trying again', {
      resource: resource.plural,
      attempt: this.#failures,
      error: String(error),
    })
  }

  async #backOff(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options
    const delay = Math.min(FIRST_BACKOFF * 2 ** (this.#failures - 1), MAX_BACKOFF)
    await clock.sleep(delay * (0.5 + random.next() / 2), signal).catch(() => {})
  }

  #where() {
    const { resource, namespace } = this.#options
    return { resource, ...(namespace !== undefined && { namespace }) }
  }

  #selectors(): Record<string, string> {
    const { labelSelector, fieldSelector } = this.#options
    return {
      ...(labelSelector !== undefined && { labelSelector }),
      ...(fieldSelector !== undefined && { fieldSelector }),
    }
  }

  #watchQuery(): Record<string, string> {
    const seconds = Math.round(MIN_WATCH_SECONDS * (1 + this.#options.random.next()))
    return { ...this.#selectors(), allowWatchBookmarks: 'true', timeoutSeconds: String(seconds) }
  }
}

/** The revision is gone (410), or is not there yet because the server lost its state. */
function isForgotten(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return error.code === 410 || (error.code === 504 && error.message.includes('Too large resource version'))
}

/** Nobody who follows objects asks who set their fields, and that is half of what a small object costs to keep. */
function withoutManagedFields<T extends KubernetesObject>(object: T): T {
  if (!object.metadata.managedFields) return object
  const known = shortened.get(object)
  if (known) return known as T
  const { managedFields: _, ...metadata } = object.metadata
  const short = { ...object, metadata }
  shortened.set(object, short)
  return short
}

/** Informers of one process are told of the same objects: they keep one copy for all. */
const shortened = new WeakMap<KubernetesObject, KubernetesObject>()
