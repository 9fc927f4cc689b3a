/** A binary heap: the first by `before` is on top. An item is found and removed by its identity. */
export class PriorityHeap<T extends object> {
  readonly #items: T[] = []
  readonly #positions = new Map<T, number>()
  readonly #before: (a: T, b: T) => boolean

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  get top(): T | undefined {
    return this.#items[0]
  }

  has(item: T): boolean {
    return this.#positions.has(item)
  }

  push(item: T): void {
    if (this.#positions.has(item)) return
    this.#items.push(item)
    this.#up(this.#items.length - 1, item)
  }

  pop(): T | undefined {
    const top = this.#items[0]
    if (top) this.remove(top)
    return top
  }

  remove(item: T): boolean {
    const at = this.#positions.get(item)
    if (at === undefined) return false
    this.#positions.delete(item)
    const last = this.#items.pop()!
    if (last === item) return true
    if (at > 0 && this.#before(last, this.#items[(at - 1) >> 1]!)) this.#up(at, last)
    else this.#down(at, last)
    return true
  }

  values(): IterableIterator<T> {
    return this.#items.values()
  }

  #up(from: number, item: T): void {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      const other = this.#items[parent]!
      if (!this.#before(item, other)) break
      this.#set(at, other)
      at = parent
    }
    this.#set(at, item)
  }

  #down(from: number, item: T): void {
    let at = from
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.#items.length) break
      if (child + 1 < this.#items.length && this.#before(this.#items[child + 1]!, this.#items[child]!)) child++
      const other = this.#items[child]!
      if (!this.#before(other, item)) break
      this.#set(at, other)
      at = child
    }
    this.#set(at, item)
  }

  #set(at: number, item: T): void {
    this.#items[at] = item
    this.#positions.set(item, at)
  }
}
