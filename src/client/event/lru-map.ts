/** A map that forgets what was not touched for longest once it is full. */
export class LruMap<V> {
  readonly #size: number
  readonly #entries = new Map<string, V>()

  constructor(size: number) {
    this.#size = size
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, value)
    }
    return value
  }

  set(key: string, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#size) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }
}
