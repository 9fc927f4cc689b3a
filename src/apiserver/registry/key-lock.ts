/**
 * One change of an object at a time, in the order they came. Without it many clients that patch the same object would
 * compute their changes over and over, each time losing to another.
 */
export class KeyLock {
  readonly #last = new Map<string, Promise<void>>()

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const run = before ? before.then(work) : work()
    const done = run.then(nothing, nothing)
    this.#last.set(key, done)
    try {
      return await run
    } finally {
      if (this.#last.get(key) === done) this.#last.delete(key)
    }
  }
}

function nothing(): void {}
