/** The few parts of the protobuf wire format that an OpenAPI document needs. Grows as it is written. */
export class ProtobufWriter {
  #bytes: Buffer
  #length = 0

  constructor(capacity = 256) {
    this.#bytes = Buffer.allocUnsafe(capacity)
  }

  /** Empty text is the default, and is not written. */
  string(field: number, value: string | undefined): void {
    if (value === undefined || value === '') return
    this.#tag(field, 2)
    const size = Buffer.byteLength(value)
    this.#varint(size)
    this.#reserve(size)
    this.#length += this.#bytes.write(value, this.#length)
  }

  bool(field: number, value: boolean | undefined): void {
    if (!value) return
    this.#tag(field, 0)
    this.#varint(1)
  }

  int(field: number, value: number | undefined): void {
    if (value === undefined || value === 0) return
    this.#tag(field, 0)
    this.#varint(value)
  }

  double(field: number, value: number | undefined): void {
    if (value === undefined || value === 0) return
    this.#tag(field, 1)
    this.#reserve(8)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
  }

  /** A message inside; written even if empty, because that it is there may matter. */
  message(field: number, write: (writer: ProtobufWriter) => void): void {
    this.#tag(field, 2)
    this.#reserve(1)
    const start = ++this.#length
    write(this)
    // Its length stands before it and is known only now: one byte is kept free, a longer number needs it moved.
    const size = this.#length - start
    const more = varintLength(size) - 1
    if (more > 0) {
      this.#reserve(more)
      this.#bytes.copyWithin(start + more, start, this.#length)
    }
    const end = this.#length + more
    this.#length = start - 1
    this.#varint(size)
    this.#length = end
  }

  /** A message that was written elsewhere, in parts. */
  parts(field: number, parts: readonly Buffer[]): void {
    const size = parts.reduce((sum, part) => sum + part.length, 0)
    this.#tag(field, 2)
    this.#varint(size)
    this.#reserve(size)
    for (const part of parts) this.#length += part.copy(this.#bytes, this.#length)
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #tag(field: number, wireType: number): void {
    this.#varint(field * 8 + wireType)
  }

  #varint(value: number): void {
    this.#reserve(10)
    let rest = value
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#length++] = rest
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#bytes.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + size))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}

function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) length++
  return length
}
