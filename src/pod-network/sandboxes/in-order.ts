/** Work for the same key is done one after the other, in the order it was asked for; for different keys at once. */
export class InOrder {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#last.get(key)
    const result = previous ? previous.then(work, work) : work()
    this.#last.set(key, result)
    const forget = () => {
      if (this.#last.get(key) === result) this.#last.delete(key)
    }
    result.then(forget, forget)
    return result
  }

  /** Resolves when all that was asked for is done. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#last.values())
  }
}
