/** How many commits back an event may still be on its way. */
const KEPT = 64

/** Tells our own commits from those of others: each has a number. */
export class OwnGenerations {
  readonly #own = new Set<number>()

  note(generation: number): void {
    this.#own.add(generation)
    if (this.#own.size <= KEPT) return
    const [oldest] = this.#own
    this.#own.delete(oldest!)
  }

  isOwn(generation: number): boolean {
    return this.#own.has(generation)
  }
}
