import { isUtf8 } from 'node:buffer'

/** The bytes are no message, or not the one that was expected. */
export class WireError extends Error {}

export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

const TWO_32 = 2 ** 32
/** Longer texts are worth a call into the engine. */
const SHORT_TEXT = 64

/** A place in bytes of protobuf's wire format. Everything it reads is checked against their end. */
export class WireReader {
  readonly #bytes: Buffer
  /** All bytes as characters, made once: short texts are cut out of it. */
  #characters: string | undefined
  at = 0
  /** Kept by the reader of a message, which bounds them: the work of what was read so far, and its map entries. */
  weight = 0
  mapEntries = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** A tag or a length: 32 bits without a sign. */
  size(): number {
    const value = this.int()
    if (value < 0 || value >= TWO_32) throw new WireError('proto: integer overflow')
    return value
  }

  /** A number of 64 bits in two's complement. Beyond 2^53 it is rounded, as in JSON. */
  int(): number {
    let byte = this.#byte()
    if (byte < 0x80) return byte
    let low = byte & 0x7f
    let high = 0
    for (let shift = 7; shift < 28; shift += 7) {
      byte = this.#byte()
      low |= (byte & 0x7f) << shift
      if (byte < 0x80) return low
    }
    byte = this.#byte()
    low |= (byte & 0x0f) << 28
    high = (byte & 0x7f) >> 4
    for (let shift = 3; byte >= 0x80; shift += 7) {
      if (shift > 31) throw new WireError('proto: integer overflow')
      byte = this.#byte()
      high |= (byte & 0x7f) << shift
    }
    return high * TWO_32 + (low >>> 0)
  }

  /** A number of 64 bits in two's complement, exactly. */
  bigint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, value)
    }
    throw new WireError('proto: integer overflow')
  }

  double(): number {
    const start = this.#skip(8)
    return this.#bytes.readDoubleLE(start)
  }

  /** Where the bytes end whose length stands here. They are in front of `end`. */
  endOfBytes(end: number): number {
    const length = this.size()
    if (length > end - this.at) throw new WireError('unexpected EOF')
    return this.at + length
  }

  bytes(end: number): Buffer {
    const stop = this.endOfBytes(end)
    const bytes = this.#bytes.subarray(this.at, stop)
    this.at = stop
    return bytes
  }

  text(end: number): string {
    const stop = this.endOfBytes(end)
    const start = this.at
    this.at = stop
    if (stop - start <= SHORT_TEXT && this.#isAscii(start, stop)) {
      this.#characters ??= this.#bytes.toString('latin1')
      return this.#characters.substring(start, stop)
    }
    const text = this.#bytes.toString('utf8', start, stop)
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, stop)))
      throw new WireError('a string is no valid UTF-8')
    return text
  }

  #isAscii(start: number, stop: number): boolean {
    const bytes = this.#bytes
    for (let at = start; at < stop; at++) if (bytes[at]! > 0x7f) return false
    return true
  }

  skip(wireType: number, end: number): void {
    if (wireType === WIRE.varint) this.int()
    else if (wireType === WIRE.fixed64) this.#skip(8)
    else if (wireType === WIRE.fixed32) this.#skip(4)
    else if (wireType === WIRE.bytes) this.at = this.endOfBytes(end)
    else throw new WireError(`proto: illegal wireType ${wireType}`)
  }

  #byte(): number {
    const byte = this.#bytes[this.at]
    if (byte === undefined) throw new WireError('unexpected EOF')
    this.at++
    return byte
  }

  #skip(length: number): number {
    const start = this.at
    if (start + length > this.#bytes.length) throw new WireError('unexpected EOF')
    this.at = start + length
    return start
  }
}
