import type { Clock, Timer } from './clock.ts'

export interface SerialLoopOptions {
  readonly clock: Clock
  /** Does the work; returns when it wants to be called again at the latest. */
  readonly run: () => Promise<number | undefined>
  readonly onError: (error: unknown) => void
  /** Milliseconds before a failure is tried again, doubling. */
  readonly retry: { readonly first: number; readonly longest: number }
}

/** Runs one function repeatedly, never twice at once: when woken, and at the time it asked for. */
export class SerialLoop {
  readonly #options: SerialLoopOptions
  #isRunning = false
  #isDirty = false
  #isStopped = false
  #failures = 0
  #timer: Timer | undefined
  #idle: Promise<void> = Promise.resolve()

  constructor(options: SerialLoopOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  wake(): void {
    if (this.#isStopped) return
    this.#isDirty = true
    if (!this.#isRunning) this.#idle = this.#work()
  }

  /** No run begins any more; resolves when the one at work has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#idle
  }

  async #work(): Promise<void> {
    this.#isRunning = true
    while (this.#isDirty && !this.#isStopped) {
      this.#isDirty = false
      this.#timer?.cancel()
      this.#wakeAt(await this.#runOnce())
    }
    this.#isRunning = false
  }

  async #runOnce(): Promise<number | undefined> {
    const { run, onError, retry, clock } = this.#options
    try {
      const at = await run()
      this.#failures = 0
      return at
    } catch (error) {
      if (!this.#isStopped) onError(error)
      return clock.now() + Math.min(retry.longest, retry.first * 2 ** this.#failures++)
    }
  }

  #wakeAt(at: number | undefined): void {
    if (at === undefined || this.#isStopped) return
    const { clock } = this.#options
    this.#timer = clock.after(Math.max(0, at - clock.now()), () => this.wake()).unref()
  }
}
