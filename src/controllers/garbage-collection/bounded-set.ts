/** Forgets the oldest entries when there are too many. */
export class BoundedSet {
  readonly #limit: number
  readonly #values = new Set<string>()

  constructor(limit: number) {
    this.#limit = limit
  }

  has(value: string): boolean {
    return this.#values.has(value)
  }

  add(value: string): void {
    this.#values.add(value)
    if (this.#values.size <= this.#limit) return
    for (const oldest of this.#values) {
      this.#values.delete(oldest)
      return
    }
  }
}
