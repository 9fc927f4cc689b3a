import type { Clock, Timer } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'

export interface SyncLoopOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Brings everything (`full`), or what has changed, into effect. */
  sync(full: boolean): Promise<void>
}

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 30_000
/** Comparing everything with the kernel must not take more than this part of the time. */
const COMPARE_SHARE = 20
const FIRST_COMPARE_MS = 100

/**
 * Runs syncs one after the other. Guarantees:
 * - what is asked for while one runs is done by the next, all together;
 * - after a failure the next is a full one, later and later;
 * - comparing because of others' changes is limited to a small part of the time.
 */
export class SyncLoop implements AsyncDisposable {
  readonly #options: SyncLoopOptions
  #timer: Timer | undefined
  #compareTimer: Timer | undefined
  #running: Promise<void> | undefined
  #isWanted = false
  #isFullWanted = false
  #isStopped = false
  #retryMs = 0
  #isCompareWanted = false
  /** When others may make us compare again. */
  #nextCompareAt = 0
  #idle: (() => void)[] = []

  constructor(options: SyncLoopOptions) {
    this.#options = options
  }

  request(full = false): void {
    this.#isWanted = true
    this.#isFullWanted ||= full
    if (this.#retryMs === 0) this.#schedule(0)
  }

  /** Others changed something: look at everything, soon. */
  requestCompare(): void {
    if (this.#compareTimer || this.#isStopped) return
    const delay = Math.max(FIRST_COMPARE_MS, this.#nextCompareAt - this.#options.clock.now())
    this.#compareTimer = this.#options.clock.after(delay, () => {
      this.#compareTimer = undefined
      this.#isCompareWanted = true
      this.request(true)
    })
    this.#compareTimer.unref()
  }

  /** Resolves when nothing is left to do. */
  settled(): Promise<void> {
    if (!this.#isWanted && !this.#running) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#compareTimer?.cancel()
    await this.#running
    this.#tellIdle()
  }

  #schedule(delay: number): void {
    if (this.#timer || this.#running || this.#isStopped) return
    this.#timer = this.#options.clock.after(delay, () => {
      this.#timer = undefined
      this.#running = this.#run().finally(() => {
        this.#running = undefined
        if (this.#isWanted) this.#schedule(this.#retryMs)
        else this.#tellIdle()
      })
    })
  }

  async #run(): Promise<void> {
    const { clock, log, sync } = this.#options
    const full = this.#isFullWanted
    const isCompare = this.#isCompareWanted
    this.#isWanted = this.#isFullWanted = this.#isCompareWanted = false
    const start = clock.now()
    try {
      await sync(full)
      this.#retryMs = 0
      if (isCompare) this.#nextCompareAt = clock.now() + (clock.now() - start) * COMPARE_SHARE
    } catch (error) {
      this.#isWanted = this.#isFullWanted = true
      this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2 || FIRST_RETRY_MS)
      log.error('the rules of Services could not be brought up to date', { error, retryMs: this.#retryMs })
    }
  }

  #tellIdle(): void {
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}
