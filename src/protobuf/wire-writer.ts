import { WIRE } from './wire-reader.ts'

const TWO_32 = 2 ** 32
/** Longer texts are worth a call into the engine. */
const SHORT_TEXT = 64

/**
 * Writes from the end to the beginning: when a message is complete its length is known, and stands in front of it
 * without anything being moved.
 */
export class WireWriter {
  readonly #capacity: number
  #bytes: Buffer
  /** The first byte that is written. */
  #at: number

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#bytes = Buffer.allocUnsafe(capacity)
    this.#at = capacity
  }

  /** How much was written; remember it before writing something whose length must be told. */
  get written(): number {
    return this.#bytes.length - this.#at
  }

  /** A copy of what was written. The writer is empty then. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(this.#at))
    this.reset()
    return taken
  }

  /** Room that one large object needed is not kept. */
  reset(): void {
    if (this.#bytes.length > this.#capacity) this.#bytes = Buffer.allocUnsafe(this.#capacity)
    this.#at = this.#bytes.length
  }

  /** Completes a message or a text: its length since `written`, and the tag. */
  closeBytes(field: number, written: number): void {
    this.size(this.written - written)
    this.size(field * 8 + WIRE.bytes)
  }

  text(field: number, value: string): void {
    const before = this.written
    this.#text(value)
    this.closeBytes(field, before)
  }

  /** Bytes as they are, without a tag. */
  raw(value: Buffer): void {
    this.#reserve(value.length)
    this.#at -= value.length
    value.copy(this.#bytes, this.#at)
  }

  bytes(field: number, value: Buffer): void {
    this.raw(value)
    this.size(value.length)
    this.size(field * 8 + WIRE.bytes)
  }

  int(field: number, value: number | bigint): void {
    this.varint(value)
    this.size(field * 8 + WIRE.varint)
  }

  /** A number of 64 bits without a tag, as in a packed list. */
  varint(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value < TWO_32) this.size(value)
    else this.#wide(typeof value === 'number' ? BigInt(Math.trunc(value)) : value)
  }

  double(field: number, value: number): void {
    this.#reserve(8)
    this.#at -= 8
    this.#bytes.writeDoubleLE(value, this.#at)
    this.size(field * 8 + WIRE.fixed64)
  }

  /** A number without a sign, of at most 32 bits. */
  size(value: number): void {
    this.#reserve(5)
    const bytes = this.#bytes
    if (value < 0x80) {
      bytes[--this.#at] = value
      return
    }
    this.#at -= sizeLength(value)
    putSize(bytes, this.#at, value)
  }

  #wide(value: bigint): void {
    this.#reserve(10)
    const bytes: number[] = []
    let rest = BigInt.asUintN(64, value)
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
    bytes.push(Number(rest))
    this.#at -= bytes.length
    this.#bytes.set(bytes, this.#at)
  }

  #text(value: string): void {
    const { length } = value
    if (length > SHORT_TEXT || !this.#ascii(value)) {
      const size = Buffer.byteLength(value)
      this.#reserve(size)
      this.#at -= size
      this.#bytes.write(value, this.#at)
    }
  }

  /** False, and nothing is written, if the text has other characters. */
  #ascii(value: string): boolean {
    const { length } = value
    this.#reserve(length)
    const start = this.#at - length
    const bytes = this.#bytes
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i)
      if (code > 0x7f) return false
      bytes[start + i] = code
    }
    this.#at = start
    return true
  }

  #reserve(size: number): void {
    if (size <= this.#at) return
    const { written } = this
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, written + size))
    this.#bytes.copy(grown, grown.length - written, this.#at)
    this.#at = grown.length - written
    this.#bytes = grown
  }
}

/** Writes a number of `sizeLength` bytes; returns where they end. */
export function putSize(bytes: Buffer, start: number, value: number): number {
  let at = start
  let rest = value
  while (rest > 0x7f) {
    bytes[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  bytes[at++] = rest
  return at
}

export function sizeLength(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x200000) return 3
  return value < 0x10000000 ? 4 : 5
}
