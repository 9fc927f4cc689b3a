/** A set of whole numbers from 0 up, thin where it is empty: a thousand addresses of a /64 cost a thousand words at most. */
export class OffsetSet {
  /** Bits by their number divided by 32; words without a bit are left out. */
  readonly #words = new Map<number, number>()

  has(offset: number): boolean {
    return ((this.#words.get(wordOf(offset)) ?? 0) & bitOf(offset)) !== 0
  }

  add(offset: number): void {
    const word = wordOf(offset)
    this.#words.set(word, (this.#words.get(word) ?? 0) | bitOf(offset))
  }

  delete(offset: number): void {
    const word = wordOf(offset)
    const bits = (this.#words.get(word) ?? 0) & ~bitOf(offset)
    if (bits === 0) this.#words.delete(word)
    else this.#words.set(word, bits)
  }

  clear(): void {
    this.#words.clear()
  }

  /** The smallest number in [from, to) that is not in the set; full words are stepped over at once. */
  nextFree(from: number, to: number): number | undefined {
    let at = from
    while (at < to) {
      const bits = this.#words.get(wordOf(at))
      if (bits === undefined) return at
      const free = ~bits & (-1 << (at % 32))
      if (free !== 0) {
        const found = at - (at % 32) + lowestBit(free)
        return found < to ? found : undefined
      }
      at += 32 - (at % 32)
    }
    return undefined
  }
}

const wordOf = (offset: number) => Math.floor(offset / 32)
const bitOf = (offset: number) => 1 << (offset % 32)
const lowestBit = (word: number) => 31 - Math.clz32(word & -word)
