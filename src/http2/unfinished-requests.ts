import type { Clock, Timer } from '../base/clock.ts'

/** How long a client may go on sending what nobody reads. */
const PATIENCE_MS = 1000
const MOST = 100

/**
 * Requests that were answered before their end. What is still to come interests nobody, and the client is told so. But
 * not at once: many clients that are told to stop while they send do not read the answer any more.
 */
export class UnfinishedRequests {
  readonly #clock: Clock
  readonly #reset: (id: number) => void
  readonly #timers = new Map<number, Timer>()

  constructor(clock: Clock, reset: (id: number) => void) {
    this.#clock = clock
    this.#reset = reset
  }

  add(id: number): void {
    if (this.#timers.size >= MOST) this.#reset(id)
    else this.#timers.set(id, this.#clock.after(PATIENCE_MS, () => this.#end(id)).unref())
  }

  /** The client has sent all, or gave up by itself. */
  finished(id: number): void {
    this.#timers.get(id)?.cancel()
    this.#timers.delete(id)
  }

  clear(): void {
    for (const id of [...this.#timers.keys()]) this.finished(id)
  }

  #end(id: number): void {
    this.#timers.delete(id)
    this.#reset(id)
  }
}
