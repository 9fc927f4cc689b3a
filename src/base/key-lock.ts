/** Runs work for one key in the order it was asked for, and work for different keys at the same time. */
export class KeyLock {
  /** The work that waits for each key in use; usually none. */
  readonly #waiting = new Map<string, (() => void)[] | undefined>()
  #idle: (() => void)[] = []

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#waiting.has(key)) await this.#turn(key)
    else this.#waiting.set(key, undefined)
    try {
      return await work()
    } finally {
      const next = this.#waiting.get(key)?.shift()
      if (next) next()
      else this.#release(key)
    }
  }

  /** Resolves when no work runs or waits. */
  settled(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #release(key: string): void {
    this.#waiting.delete(key)
    if (this.#waiting.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Resolves when all earlier work for the key is done; the key stays in use meanwhile. */
  #turn(key: string): Promise<void> {
    return new Promise((resolve) => {
      const others = this.#waiting.get(key)
      if (others) others.push(resolve)
      else this.#waiting.set(key, [resolve])
    })
  }
}
