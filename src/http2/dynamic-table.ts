import { fieldSize, type HeaderField } from './hpack-tables.ts'

/** The fields that the other side may name by number, RFC 7541, 2.3.2: a ring, so that neither end has to move. */
export class DynamicTable {
  readonly #ring: (HeaderField | undefined)[]
  readonly #mask: number
  #newest = 0
  #length = 0
  #size = 0
  #maxSize: number

  /** `mostBytes` is what it can ever be resized to. */
  constructor(mostBytes: number) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(1, mostBytes / fieldSize('', ''))))
    this.#ring = new Array<HeaderField | undefined>(slots).fill(undefined)
    this.#mask = slots - 1
    this.#maxSize = mostBytes
  }

  /** The newest field is number 0. */
  at(number: number): HeaderField | undefined {
    return number < this.#length ? this.#ring[(this.#newest - number) & this.#mask] : undefined
  }

  /** A field that is larger than the whole table leaves it empty, and that is no error. */
  add(name: string, value: string): void {
    const size = fieldSize(name, value)
    this.#shrinkTo(this.#maxSize - size)
    if (size > this.#maxSize) return
    this.#newest = (this.#newest + 1) & this.#mask
    this.#ring[this.#newest] = { name, value, size }
    this.#length++
    this.#size += size
  }

  resize(bytes: number): void {
    this.#maxSize = bytes
    this.#shrinkTo(bytes)
  }

  #shrinkTo(bytes: number): void {
    while (this.#size > bytes && this.#length > 0) {
      this.#length--
      const oldest = (this.#newest - this.#length) & this.#mask
      this.#size -= this.#ring[oldest]!.size
      this.#ring[oldest] = undefined
    }
  }
}
