import type { Clock } from '../../base/clock.ts'

/** A change that waits longer than this means that the rules are not what they should be. */
const PATIENCE_MS = 60_000

/** Whether the rules keep up with the API. */
export class ProxyHealth {
  readonly #clock: Clock
  #pendingSince: number | undefined
  #lastUpdated: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#lastUpdated = clock.now()
  }

  /** There is something to do. */
  queued(): void {
    this.#pendingSince ??= this.#clock.now()
  }

  /** All of it is done. */
  updated(): void {
    this.#pendingSince = undefined
    this.#lastUpdated = this.#clock.now()
  }

  get isHealthy(): boolean {
    return this.#pendingSince === undefined || this.#clock.now() - this.#pendingSince <= PATIENCE_MS
  }

  /** When the rules were last known to be right: now, unless something waits. */
  get lastUpdated(): number {
    return this.#pendingSince === undefined ? this.#clock.now() : this.#lastUpdated
  }
}
