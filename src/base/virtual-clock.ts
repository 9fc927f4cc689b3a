import { type Clock, sleepOn, type Timer } from './clock.ts'

interface Pending {
  readonly due: number
  readonly order: number
  readonly callback: () => void
}

/**
 * A clock that stands still until it is told to move. Timers run in the order of their due times, and in the order
 * they were made where those are equal.
 */
export class VirtualClock implements Clock {
  #now: number
  #order = 0
  /** A binary heap on (due, order). Cancelled timers stay in it and are skipped. */
  readonly #heap: Pending[] = []
  readonly #live = new Set<Pending>()

  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#live.size
  }

  /** When the next timer falls due, if there is one. */
  get nextDue(): number | undefined {
    while (this.#heap[0] && !this.#live.has(this.#heap[0])) this.#pop()
    return this.#heap[0]?.due
  }

  after(delay: number, callback: () => void): Timer {
    const entry = { due: this.#now + Math.max(0, delay), order: this.#order++, callback }
    this.#live.add(entry)
    this.#push(entry)
    const timer: Timer = { cancel: () => void this.#live.delete(entry), unref: () => timer }
    return timer
  }

  sleep(delay: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delay, signal)
  }

  /** Moves time on by `milliseconds`, running every timer that falls due, also those made on the way. */
  advance(milliseconds: number): void {
    const until = this.#now + milliseconds
    while (this.#runNext(until)) {}
    this.#now = until
  }

  /** Like `advance`, but lets promises settle between timers, so that what waits on a sleep can sleep again. */
  async advanceAsync(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds
    await settle()
    while (this.#runNext(until)) await settle()
    this.#now = until
  }

  #runNext(until: number): boolean {
    for (;;) {
      const first = this.#heap[0]
      if (!first || first.due > until) return false
      this.#pop()
      if (!this.#live.delete(first)) continue
      this.#now = Math.max(this.#now, first.due)
      first.callback()
      return true
    }
  }

  #push(entry: Pending): void {
    const heap = this.#heap
    let i = heap.push(entry) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!before(entry, heap[parent]!)) break
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, last)) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = last
  }
}

const before = (a: Pending, b: Pending) => a.due < b.due || (a.due === b.due && a.order < b.order)

/** Two turns of the event loop: promise chains and immediates that hang on a fired timer have run. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
}
