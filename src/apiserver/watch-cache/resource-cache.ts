import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Clock } from '../../base/clock.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import { KeyIndex } from '../../base/key-index.ts'
import type { Change, Entry } from '../../store/store.ts'
import { CachedObject } from './cached-object.ts'
import { type EncodedObject, isStampOf, withRevision } from './encoding.ts'
import { type CacheEvent, EventLog } from './event-log.ts'
import { type ObjectEvent, type ObjectFilter, selects, type Watcher } from './watcher.ts'
import { WatcherGroup } from './watcher-group.ts'

/** How many past changes of a resource can be replayed from memory; older ones are read from the store. */
const EVENT_LOG_CAPACITY = 4096

/** What a watcher has of the cache it watches. */
export interface Subscription {
  /** Tells the watcher what waits for it; afterwards it has seen everything. */
  catchUp(): void
  end(): void
}

/** All objects of one resource, in key order, with those who watch them. Fed by `CacheFeed`, synchronously. */
export class ResourceCache {
  readonly prefix: string
  #bytes = 0
  readonly #objects = new Map<string, CachedObject>()
  readonly #keys = new KeyIndex()
  readonly #log: EventLog
  readonly #groups = new Map<string, WatcherGroup>()
  readonly #clock: Clock
  /** Writes of this process that are under way, by key. */
  readonly #announced = new Map<string, EncodedObject>()
  /** The revision of the last change of this resource. */
  #lastChange: number

  constructor(prefix: string, objects: readonly CachedObject[], revision: number, clock: Clock) {
    this.prefix = prefix
    this.#clock = clock
    for (const object of objects) this.#put(object)
    this.#log = new EventLog(revision, EVENT_LOG_CAPACITY)
    this.#lastChange = revision
  }

  get lastChange(): number {
    return this.#lastChange
  }

  get size(): number {
    return this.#objects.size
  }

  /** What its objects weigh, on average. */
  get averageBytes(): number {
    return this.#bytes / Math.max(1, this.#objects.size)
  }

  get bytes(): number {
    return this.#bytes
  }

  get watcherCount(): number {
    let count = 0
    for (const group of this.#groups.values()) count += group.size
    return count
  }

  get(key: string): CachedObject | undefined {
    return this.#objects.get(key)
  }

  /** Visits the objects of a scope in key order, strictly after `after`, until the visitor returns false. */
  visit(filter: ObjectFilter, after: string | undefined, visitor: (object: CachedObject) => boolean): void {
    if (filter.exactKey) {
      const object = this.#objects.get(filter.keyPrefix)
      if (object && (after === undefined || object.key > after) && selects(filter, object)) visitor(object)
      return
    }
    this.#keys.visit(filter.keyPrefix, after, (key) => {
      const object = this.#objects.get(key)!
      return (filter.matches !== undefined && !filter.matches(object)) || visitor(object)
    })
  }

  /** How many objects of a scope come after a key, without looking at them. */
  countAfter(keyPrefix: string, after: string): number {
    return this.#keys.count(keyPrefix, after)
  }

  /** The objects of a scope at this moment. */
  select(filter: ObjectFilter): CachedObject[] {
    const found: CachedObject[] = []
    this.visit(filter, undefined, (object) => found.push(object) > 0)
    return found
  }

  /** The events after a revision as this filter sees them, or undefined if the log does not reach back so far. */
  eventsAfter(revision: number, filter: ObjectFilter): ObjectEvent[] | undefined {
    const events = this.#log.after(revision)
    if (!events) return undefined
    return events.map((event) => eventFor(event, filter)).filter((event) => event !== undefined)
  }

  /** Every change after this revision can be replayed from memory. */
  get completeSince(): number {
    return this.#log.completeSince
  }

  subscribe(filter: ObjectFilter, watcher: Watcher): Subscription {
    const group = getOrCreate(this.#groups, filter.id, () => new WatcherGroup(filter, this.#clock))
    group.add(watcher)
    return {
      catchUp: () => group.catchUp(watcher),
      end: () => {
        group.remove(watcher)
        if (group.size === 0 && this.#groups.get(filter.id) === group) this.#groups.delete(filter.id)
      },
    }
  }

  /** Takes in the changes of one commit and hands them to all watchers. Those it was loaded with are passed over. */
  apply(changes: readonly Change[]): void {
    if (changes[0]!.revision <= this.#lastChange) return
    const events = changes.map((change) => this.#record(change))
    for (const group of this.#groups.values()) {
      const seen = events.map((event) => eventFor(event, group.filter)).filter((event) => event !== undefined)
      if (seen.length > 0) group.take(seen)
    }
  }

  /** This is being written: when it comes back from the store, its parsed form is known. Returns how to take it back. */
  announce(key: string, encoded: EncodedObject): () => void {
    this.#announced.set(key, encoded)
    return () => {
      if (this.#announced.get(key) === encoded) this.#announced.delete(key)
    }
  }

  /** Ends every watch: the cache is about to be replaced. */
  close(): void {
    for (const group of this.#groups.values()) group.end()
  }

  #put(object: CachedObject): void {
    const previous = this.#objects.get(object.key)
    if (!previous) this.#keys.add(object.key)
    this.#bytes += object.bytes.length - (previous?.bytes.length ?? 0)
    this.#objects.set(object.key, object)
  }

  #remove(key: string): void {
    const previous = this.#objects.get(key)
    if (!previous) return
    this.#bytes -= previous.bytes.length
    this.#objects.delete(key)
    this.#keys.delete(key)
  }

  /** Others may write the same key at the same time: only equal bytes mean the same. */
  #parsedForm({ key, value, revision }: Entry): KubernetesObject | undefined {
    const encoded = this.#announced.get(key)
    if (!encoded || !isStampOf(encoded, value, revision)) return undefined
    const { object } = encoded
    object.metadata.resourceVersion = String(revision)
    return object
  }

  #record(change: Change): CacheEvent {
    const previous = this.#objects.get(change.key)
    const current = change.entry && new CachedObject(change.entry, this.#parsedForm(change.entry))
    if (current) this.#put(current)
    else this.#remove(change.key)
    const event = { revision: change.revision, current, previous }
    this.#log.append(event)
    this.#lastChange = change.revision
    return event
  }
}

/** A change seen through a filter: an object that stops matching is gone for those who watch it. */
export function eventFor(event: CacheEvent, filter: ObjectFilter): ObjectEvent | undefined {
  const { current, previous } = event
  const isIn = current !== undefined && selects(filter, current)
  const wasIn = previous !== undefined && selects(filter, previous)
  if (isIn) return { type: wasIn ? 'MODIFIED' : 'ADDED', object: current, previous }
  if (wasIn) return { type: 'DELETED', object: lastState(previous, event.revision), previous }
  return undefined
}

/** A deleted object is sent as it last was, with the revision of its deletion. */
function lastState(previous: CachedObject, revision: number): CachedObject {
  const { known } = previous
  const parsed = known && { ...known, metadata: { ...known.metadata, resourceVersion: String(revision) } }
  return new CachedObject({ key: previous.key, value: withRevision(previous.bytes, revision), revision }, parsed)
}
