/** Bindings that wait until others have made their volumes. They do nothing meanwhile, and end when the scheduler does. */
export class VolumeWaits {
  readonly #waiting = new Set<AbortController>()

  /** How many bindings wait. */
  get size(): number {
    return this.#waiting.size
  }

  async during(wait: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const abort = new AbortController()
    this.#waiting.add(abort)
    try {
      await wait(abort.signal)
    } finally {
      this.#waiting.delete(abort)
    }
  }

  stop(): void {
    for (const abort of this.#waiting) abort.abort()
  }
}
