/** Answers below this have a place in a table; the others are looked up. */
const WIDTH = 64
const UNKNOWN = -1

/** Numbers the combinations of a number so far and one more answer, in the order they are met. */
export class Steps {
  #table = new Int32Array(WIDTH).fill(UNKNOWN)
  readonly #others = new Map<string, number>()
  #met = 0

  next(number: number, answer: number): number {
    if (answer < 0 || answer >= WIDTH) return this.#other(number, answer)
    const at = number * WIDTH + answer
    if (at < this.#table.length) {
      const known = this.#table[at]!
      if (known !== UNKNOWN) return known
    } else this.#grow(at)
    this.#table[at] = this.#met
    return this.#met++
  }

  #other(number: number, answer: number): number {
    const key = `${number}|${answer}`
    const known = this.#others.get(key)
    if (known !== undefined) return known
    this.#others.set(key, this.#met)
    return this.#met++
  }

  #grow(at: number): void {
    const table = new Int32Array(Math.max(at + 1, this.#table.length * 2)).fill(UNKNOWN)
    table.set(this.#table)
    this.#table = table
  }
}
