import type { Clock } from '../base/clock.ts'

/** How often something may happen: some times at once, and so many a second for ever. */
export class Allowance {
  readonly #burst: number
  readonly #perSecond: number
  readonly #clock: Clock
  #left: number
  #asOf: number

  constructor(burst: number, perSecond: number, clock: Clock) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#clock = clock
    this.#left = burst
    this.#asOf = clock.now()
  }

  /** False if it happens too often. */
  take(): boolean {
    if (this.#left < 1) this.#refill()
    if (this.#left < 1) return false
    this.#left--
    return true
  }

  #refill(): void {
    const now = this.#clock.now()
    this.#left = Math.min(this.#burst, this.#left + (Math.max(0, now - this.#asOf) / 1000) * this.#perSecond)
    this.#asOf = now
  }
}
