/** Somebody who holds a parsed form and can do without it. */
interface Holder {
  readonly bytes: Buffer
  dropParsed(): void
}

/** How many were dropped before the list of holders is shortened. */
const SHORTEN_AFTER = 1024

/** The holders of parsed forms, the oldest first. Beyond so many bytes together the oldest are asked to let go. */
export class ParsedForms {
  readonly #capacity: number
  #holders: (Holder | undefined)[] = []
  #oldest = 0
  #bytes = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  add(holder: Holder): void {
    this.#holders.push(holder)
    this.#bytes += holder.bytes.length
    while (this.#bytes > this.#capacity && this.#oldest < this.#holders.length - 1) this.#dropOldest()
    if (this.#oldest < SHORTEN_AFTER || this.#oldest * 2 < this.#holders.length) return
    this.#holders = this.#holders.slice(this.#oldest)
    this.#oldest = 0
  }

  #dropOldest(): void {
    const dropped = this.#holders[this.#oldest]!
    this.#holders[this.#oldest++] = undefined
    this.#bytes -= dropped.bytes.length
    dropped.dropParsed()
  }
}
