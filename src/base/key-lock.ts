/**
 * One change of an object at a time, in the order they came. Without it many clients that patch the same object would
 * compute their changes over and over, each time losing to another.
 */
export class KeyLock {
  /** Who waits for each key that is taken; most of the time nobody does. */
  readonly #waiting = new Map<string, (() => void)[] | undefined>()

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#waiting.has(key)) await this.#turn(key)
    else this.#waiting.set(key, undefined)
    try {
      return await work()
    } finally {
      const next = this.#waiting.get(key)?.shift()
      if (next) next()
      else this.#waiting.delete(key)
    }
  }

  /** Resolves when all who came before are done; the key stays taken meanwhile. */
  #turn(key: string): Promise<void> {
    return new Promise((resolve) => {
      const others = this.#waiting.get(key)
      if (others) others.push(resolve)
      else this.#waiting.set(key, [resolve])
    })
  }
}
