import type { Random } from '../../../src/base/random.ts'

/** Numbers at which lengths, signs and widths change. */
const EDGES = [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff]
const MOST_CHANGES = 6

/** Makes new inputs from known ones: the usual small changes, several at a time. */
export class Mutator {
  readonly #random: Random
  readonly #dictionary: readonly Buffer[]
  readonly #maxBytes: number

  constructor(random: Random, dictionary: readonly string[], maxBytes: number) {
    this.#random = random
    this.#dictionary = dictionary.map((text) => Buffer.from(text, 'latin1'))
    this.#maxBytes = maxBytes
  }

  /** `other` is another known input, from which parts are taken. */
  mutate(input: Buffer, other: Buffer): Buffer {
    let bytes = Buffer.from(input)
    for (let left = 1 + this.#below(MOST_CHANGES); left > 0; left--) bytes = this.#change(bytes, other)
    return bytes.subarray(0, this.#maxBytes)
  }

  #change(bytes: Buffer, other: Buffer): Buffer<ArrayBuffer> {
    const changes = [
      this.#flip,
      this.#set,
      this.#edge,
      this.#remove,
      this.#repeat,
      this.#word,
      this.#splice,
      this.#swap,
    ]
    return Buffer.from(changes[this.#below(changes.length)]!(bytes, other))
  }

  #flip = (bytes: Buffer): Buffer => this.#at(bytes, (byte) => byte ^ (1 << this.#below(8)))
  #set = (bytes: Buffer): Buffer => this.#at(bytes, () => this.#below(256))

  #at(bytes: Buffer, change: (byte: number) => number): Buffer {
    if (bytes.length === 0) return Buffer.of(this.#below(256))
    const at = this.#below(bytes.length)
    bytes[at] = change(bytes[at]!)
    return bytes
  }

  /** A number of one, two or four bytes, in either order. */
  #edge = (bytes: Buffer): Buffer => {
    const width = [1, 2, 4][this.#below(3)]!
    if (bytes.length < width) return bytes
    const value = EDGES[this.#below(EDGES.length)]! % 2 ** (8 * width)
    const at = this.#below(bytes.length - width + 1)
    if (this.#below(2) === 0) bytes.writeUIntBE(value, at, width)
    else bytes.writeUIntLE(value, at, width)
    return bytes
  }

  #remove = (bytes: Buffer): Buffer => {
    const [start, end] = this.#part(bytes)
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)])
  }

  #repeat = (bytes: Buffer): Buffer => {
    const [start, end] = this.#part(bytes)
    const most = Math.floor((this.#maxBytes - bytes.length) / Math.max(1, end - start))
    const times = Math.max(0, Math.min(most, 1 + this.#below(this.#below(8) === 0 ? 1000 : 3)))
    const copies = Array.from({ length: times }, () => bytes.subarray(start, end))
    return Buffer.concat([bytes.subarray(0, end), ...copies, bytes.subarray(end)])
  }

  #word = (bytes: Buffer): Buffer => {
    const word = this.#dictionary[this.#below(this.#dictionary.length)] ?? Buffer.of(this.#below(256))
    const at = this.#below(bytes.length + 1)
    // Half of the time instead of what is there.
    const after = this.#below(2) === 0 ? at : Math.min(bytes.length, at + word.length)
    return Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(after)])
  }

  #splice = (bytes: Buffer, other: Buffer): Buffer => {
    const [start, end] = this.#part(other)
    const at = this.#below(bytes.length + 1)
    const after = this.#below(2) === 0 ? at : Math.min(bytes.length, at + end - start)
    return Buffer.concat([bytes.subarray(0, at), other.subarray(start, end), bytes.subarray(after)])
  }

  #swap = (bytes: Buffer): Buffer => {
    const [start, end] = this.#part(bytes)
    const at = this.#below(start + 1)
    return Buffer.concat([
      bytes.subarray(0, at),
      bytes.subarray(start, end),
      bytes.subarray(at, start),
      bytes.subarray(end),
    ])
  }

  /** Mostly a short one. */
  #part(bytes: Buffer): [start: number, end: number] {
    const start = this.#below(bytes.length + 1)
    const most = this.#below(4) === 0 ? bytes.length : 16
    return [start, Math.min(bytes.length, start + 1 + this.#below(Math.max(1, most)))]
  }

  #below(limit: number): number {
    return Math.floor(this.#random.next() * limit)
  }
}
