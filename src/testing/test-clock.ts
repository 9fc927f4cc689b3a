import { type Clock, systemClock, type Timer } from '../base/clock.ts'
import { parseDuration } from '../base/duration.ts'
import { VirtualClock } from '../base/virtual-clock.ts'

/** The time of one cluster. It goes on by itself, unless it was told to stand, and it can be moved. */
export interface TestClock {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Moves time on by `10m`, `1h30m`, ... or milliseconds. Everything that falls due happens in its order, each at its own
   * time, and is worked off before the next.
   */
  advance(duration: string | number): Promise<void>
}

/** Milliseconds of real time after which time that goes on by itself is moved. */
const TICK = 10
/** Retries and batches wait at most this long; what is due later needs `advance`. */
const SHORT_WAIT = 900

/** Resolves when no work was left for so many turns of the event loop. */
export type Quiet = (turns: number) => Promise<void>

/** In one turn everything is told that was written in it. One more is for what had not begun. */
const TURNS_AFTER_TIMER = 2
/** What the test itself has just begun may take a little longer to show. */
const TURNS_TO_SETTLE = 5

/** A virtual clock for a whole cluster, and what drives it. */
export class ClusterTime implements TestClock, Disposable {
  readonly clock: Clock & VirtualClock
  readonly #quiet: Quiet
  #tick: Timer | undefined
  /** While time is being moved it does not go on by itself. */
  #moving = 0
  #isDisposed = false

  constructor(start: number, isFlowing: boolean, quiet: Quiet) {
    this.clock = new VirtualClock(start)
    this.#quiet = quiet
    if (isFlowing) this.#flow(systemClock.now())
  }

  now(): number {
    return this.clock.now()
  }

  async advance(duration: string | number): Promise<void> {
    const milliseconds = typeof duration === 'number' ? duration : parseDuration(duration)
    if (milliseconds === undefined || !(milliseconds >= 0))
      throw new Error(`${JSON.stringify(duration)} is no duration such as 30s, 10m or 1h30m`)
    const until = this.clock.now() + milliseconds
    await this.#moveTo(until)
    this.clock.advance(Math.max(0, until - this.clock.now()))
    await this.settled()
  }

  /** Resolves when no work is left, neither now nor after the short pauses that retries and batches make. */
  async settled(): Promise<void> {
    await this.#moveTo(this.clock.now() + SHORT_WAIT)
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    this.#tick?.cancel()
  }

  /** From timer to timer, as long as they are due by then. Time stands where the last of them was. */
  async #moveTo(until: number): Promise<void> {
    this.#moving++
    try {
      await this.#quiet(TURNS_TO_SETTLE)
      for (let due = this.clock.nextDue; due !== undefined && due <= until; due = this.clock.nextDue) {
        this.clock.advance(Math.max(0, due - this.clock.now()))
        await this.#quiet(TURNS_AFTER_TIMER)
      }
    } finally {
      this.#moving--
    }
  }

  #flow(last: number): void {
    if (this.#isDisposed) return
    this.#tick = systemClock
      .after(TICK, () => {
        const now = systemClock.now()
        if (this.#moving === 0) this.clock.advance(now - last)
        this.#flow(now)
      })
      .unref()
  }
}
