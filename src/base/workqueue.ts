import type { Clock, Timer } from './clock.ts'

/**
 * A queue of keys for reconcile loops. Guarantees:
 * - Fair: keys come out in the order they were added.
 * - Never the same key twice at once: a key in work is not handed to another worker.
 * - Added while waiting: once is enough, it comes out once.
 * - Added during work: it comes out once more after `done`.
 * - `addAfter`: of several delays for one key the earliest counts; the key comes out once.
 * - `addRateLimited`: waits base * 2^failures for that key, up to a maximum; `forget` resets it.
 * - After `shutDown` nothing is added; waiting keys are still handed out, then `next` gives undefined.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #backoff: Backoff
  /** Waiting for a worker, in order. Disjoint from the keys in work. */
  readonly #waiting = new Set<string>()
  readonly #working = new Set<string>()
  /** Added again while in work. */
  readonly #again = new Set<string>()
  readonly #delayed = new Map<string, { due: number; timer: Timer }>()
  readonly #failures = new Map<string, number>()
  readonly #takers: ((key: string | undefined) => void)[] = []
  readonly #idle: (() => void)[] = []
  #shutDown = false

  constructor(clock: Clock, backoff: Partial<Backoff> = {}) {
    this.#clock = clock
    this.#backoff = { ...DEFAULT_BACKOFF, ...backoff }
  }

  /** How many keys wait for a worker, delayed ones not counted. */
  get length(): number {
    return this.#waiting.size
  }

  add(key: string): void {
    if (this.#shutDown) return
    this.#cancelDelay(key)
    if (this.#working.has(key)) {
      this.#again.add(key)
      return
    }
    const taker = this.#takers.shift()
    if (taker) this.#hand(key, taker)
    else this.#waiting.add(key)
  }

  addAfter(key: string, delay: number): void {
    if (this.#shutDown) return
    if (delay <= 0) {
      this.add(key)
      return
    }
    const due = this.#clock.now() + delay
    const known = this.#delayed.get(key)
    if (known && known.due <= due) return
    known?.timer.cancel()
    const timer = this.#clock.after(delay, () => {
      this.#delayed.delete(key)
      this.add(key)
    })
    this.#delayed.set(key, { due, timer })
  }

  addRateLimited(key: string): void {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    // 2^1024 is Infinity, which the maximum caps as well.
    this.addAfter(key, Math.min(this.#backoff.base * 2 ** failures, this.#backoff.maximum))
  }

  /** The key succeeded: its next failure waits the base delay again. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0
  }

  /** The next key, which the caller must hand back with `done`; undefined when the queue is shut down and empty. */
  next(): Promise<string | undefined> {
    return new Promise((resolve) => {
      for (const key of this.#waiting) {
        this.#waiting.delete(key)
        return this.#hand(key, resolve)
      }
      if (this.#shutDown) resolve(undefined)
      else this.#takers.push(resolve)
    })
  }

  done(key: string): void {
    if (!this.#working.delete(key)) return
    if (this.#again.delete(key)) {
      const taker = this.#takers.shift()
      if (taker) this.#hand(key, taker)
      else this.#waiting.add(key)
    }
    this.#reportIdle()
  }

  /** Resolves when no key waits or is in work. Delayed keys do not count. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve)
      this.#reportIdle()
    })
  }

  shutDown(): void {
    this.#shutDown = true
    this.#again.clear()
    for (const { timer } of this.#delayed.values()) timer.cancel()
    this.#delayed.clear()
    for (const taker of this.#takers.splice(0)) taker(undefined)
  }

  #hand(key: string, taker: (key: string) => void): void {
    this.#working.add(key)
    taker(key)
  }

  #cancelDelay(key: string): void {
    const delayed = this.#delayed.get(key)
    if (!delayed) return
    delayed.timer.cancel()
    this.#delayed.delete(key)
  }

  #reportIdle(): void {
    if (this.#waiting.size > 0 || this.#working.size > 0) return
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}

export interface Backoff {
  /** Milliseconds before the first retry. */
  readonly base: number
  readonly maximum: number
}

/** client-go's defaults for controllers. */
const DEFAULT_BACKOFF: Backoff = { base: 5, maximum: 1000 * 1000 }
