import type { Clock } from '../../base/clock.ts'
import { EventBatch, type ObjectEvent, type ObjectFilter, type Watcher } from './watcher.ts'

/**
 * More watchers of the same objects than this are a crowd. Writing to a thousand connections costs the same for one
 * event as for five, so a crowd is told together what happened since it was told last.
 */
const CROWD = 64
/** A crowd rests after it was told, for so long per watcher: about as long as telling it takes. */
const REST_MS_PER_WATCHER = 0.02
/** So many of a crowd are told in one turn of the event loop; requests get in between. */
const PER_TURN = 128

/** Events on their way to those of a crowd who have not been told yet. */
interface Telling {
  readonly events: readonly ObjectEvent[]
  readonly batch: EventBatch
  readonly left: Set<Watcher>
  readonly seen: ReadonlyMap<Watcher, number>
}

/** Watchers with equal filters: an event is computed once for all of them. */
export class WatcherGroup {
  readonly filter: ObjectFilter
  readonly #clock: Clock
  readonly #watchers = new Set<Watcher>()
  /** Events that a crowd has yet to be told. */
  #pending: ObjectEvent[] = []
  /** Who has seen the first so many of `#pending` already. */
  #seen = new Map<Watcher, number>()
  #telling: Telling | undefined
  #isPaced = false

  constructor(filter: ObjectFilter, clock: Clock) {
    this.filter = filter
    this.#clock = clock
  }

  get size(): number {
    return this.#watchers.size
  }

  /** Whoever joins has seen all so far; what waits is for the others. */
  add(watcher: Watcher): void {
    this.#watchers.add(watcher)
    if (this.#pending.length > 0) this.#seen.set(watcher, this.#pending.length)
  }

  remove(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    this.#seen.delete(watcher)
    this.#telling?.left.delete(watcher)
  }

  /** Tells a few at once, and a crowd in a moment. */
  take(events: readonly ObjectEvent[]): void {
    const isCrowd = this.#watchers.size > CROWD
    if (!isCrowd && this.#isIdle) {
      const batch = new EventBatch(events)
      for (const watcher of this.#watchers) watcher.deliver(batch)
      return
    }
    for (const event of events) this.#pending.push(event)
    if (!isCrowd) this.flush()
    else if (!this.#isPaced) this.#tellAfter(0)
  }

  /** Tells one watcher what waits for it; afterwards it has seen everything. */
  catchUp(watcher: Watcher): void {
    if (!this.#watchers.has(watcher)) return
    if (this.#telling) tellOne(this.#telling, watcher)
    const seen = this.#seen.get(watcher) ?? 0
    if (seen === this.#pending.length) return
    this.#seen.set(watcher, this.#pending.length)
    watcher.deliver(new EventBatch(this.#pending.slice(seen)))
  }

  /** Tells everybody what waits for them. */
  flush(): void {
    while (!this.#isIdle) this.#tell(Number.POSITIVE_INFINITY)
  }

  end(): void {
    this.flush()
    for (const watcher of [...this.#watchers]) watcher.end()
  }

  get #isIdle(): boolean {
    return this.#telling === undefined && this.#pending.length === 0
  }

  #tellAfter(rest: number): void {
    this.#isPaced = true
    this.#clock.after(rest, () => this.#tellCrowd()).unref()
  }

  #tellCrowd(): void {
    if (this.#isIdle) {
      this.#isPaced = false
      return
    }
    this.#tell(PER_TURN)
    if (this.#telling) setImmediate(() => this.#tellCrowd())
    else this.#tellAfter(this.#watchers.size * REST_MS_PER_WATCHER)
  }

  /** Goes on with what is being told, or begins with what waits. */
  #tell(most: number): void {
    const telling = this.#telling ?? this.#begin()
    let told = 0
    for (const watcher of telling.left) {
      if (told++ === most) return
      tellOne(telling, watcher)
    }
    if (this.#telling === telling) this.#telling = undefined
  }

  #begin(): Telling {
    const events = this.#pending
    const telling = { events, batch: new EventBatch(events), left: new Set(this.#watchers), seen: this.#seen }
    this.#pending = []
    this.#seen = new Map()
    this.#telling = telling
    return telling
  }
}

function tellOne({ events, batch, left, seen }: Telling, watcher: Watcher): void {
  if (!left.delete(watcher)) return
  const known = seen.get(watcher)
  if (known === undefined) watcher.deliver(batch)
  else if (known < events.length) watcher.deliver(new EventBatch(events.slice(known)))
}
