import type { CachedObject } from './cached-object.ts'

/** A change of one object as the cache saw it. */
export interface CacheEvent {
  readonly revision: number
  readonly current: CachedObject | undefined
  readonly previous: CachedObject | undefined
}

/** The last changes of a resource, so that a watch can go on from a revision without asking the store. */
export class EventLog {
  #events: CacheEvent[] = []
  /** Events below this index have been forgotten; they are cut away in bulk. */
  #start = 0
  /** Every change after this revision is in the log. */
  #completeSince: number
  readonly #capacity: number

  constructor(completeSince: number, capacity: number) {
    this.#completeSince = completeSince
    this.#capacity = capacity
  }

  get completeSince(): number {
    return this.#completeSince
  }

  append(event: CacheEvent): void {
    this.#events.push(event)
    if (this.#events.length - this.#start <= this.#capacity) return
    this.#completeSince = this.#events[this.#start]!.revision
    this.#start++
    // All events of one revision go together, or a resumed watch would see half a commit.
    while (this.#events[this.#start]?.revision === this.#completeSince) this.#start++
    if (this.#start < this.#capacity) return
    this.#events = this.#events.slice(this.#start)
    this.#start = 0
  }

  /** The events after a revision, or undefined if some of them have been forgotten. */
  after(revision: number): readonly CacheEvent[] | undefined {
    if (revision < this.#completeSince) return undefined
    let low = this.#start
    let high = this.#events.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#events[middle]!.revision > revision) high = middle
      else low = middle + 1
    }
    return this.#events.slice(low)
  }
}
