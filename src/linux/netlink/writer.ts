const NLA_F_NESTED = 0x8000
const HEADER = 16
/** The length of an attribute is 16 bits. */
const LONGEST_ATTRIBUTE = 0xffff

/**
 * Writes netlink messages one after another into one growing buffer. Numbers are little-endian, as the hosts that Node
 * runs on; `be` marks those that netfilter wants in network order.
 */
export class NetlinkWriter {
  bytes: Buffer
  length = 0

  constructor(capacity = 4096) {
    this.bytes = Buffer.allocUnsafeSlow(capacity)
  }

  reset(): this {
    this.length = 0
    return this
  }

  u8(value: number): this {
    this.reserve(1)
    this.bytes[this.length++] = value
    return this
  }

  u16(value: number): this {
    this.reserve(2)
    this.length = this.bytes.writeUInt16LE(value, this.length)
    return this
  }

  u32(value: number): this {
    this.reserve(4)
    const { bytes, length } = this
    bytes[length] = value
    bytes[length + 1] = value >>> 8
    bytes[length + 2] = value >>> 16
    bytes[length + 3] = value >>> 24
    this.length = length + 4
    return this
  }

  be16(value: number): this {
    this.reserve(2)
    this.length = this.bytes.writeUInt16BE(value, this.length)
    return this
  }

  be32(value: number): this {
    this.reserve(4)
    const { bytes, length } = this
    bytes[length] = value >>> 24
    bytes[length + 1] = value >>> 16
    bytes[length + 2] = value >>> 8
    bytes[length + 3] = value
    this.length = length + 4
    return this
  }

  zeros(count: number): this {
    this.reserve(count)
    this.bytes.fill(0, this.length, this.length + count)
    this.length += count
    return this
  }

  raw(data: Uint8Array): this {
    this.reserve(data.length)
    this.bytes.set(data, this.length)
    this.length += data.length
    return this
  }

  /** Starts a message; give the result to `endMessage`. */
  beginMessage(type: number, flags: number, sequence: number): number {
    const start = this.length
    this.u32(0).u16(type).u16(flags).u32(sequence).u32(0)
    return start
  }

  endMessage(start: number): this {
    this.align()
    this.bytes.writeUInt32LE(this.length - start, start)
    return this
  }

  attributeU8(type: number, value: number): this {
    return this.u16(5).u16(type).u8(value).zeros(3)
  }

  attributeU16(type: number, value: number): this {
    return this.u16(6).u16(type).u16(value).zeros(2)
  }

  attributeU32(type: number, value: number): this {
    return this.u16(8).u16(type).u32(value)
  }

  attributeBe16(type: number, value: number): this {
    return this.u16(6).u16(type).be16(value).zeros(2)
  }

  attributeBe32(type: number, value: number): this {
    return this.u16(8).u16(type).be32(value)
  }

  attributeBe64(type: number, value: bigint): this {
    this.u16(12).u16(type).reserve(8)
    this.length = this.bytes.writeBigUInt64BE(value, this.length)
    return this
  }

  /** Ends with a zero byte, as the kernel wants its strings. */
  attributeString(type: number, text: string): this {
    const length = Buffer.byteLength(text)
    this.u16(length + 5).u16(type)
    this.reserve(length + 1)
    this.length += this.bytes.write(text, this.length)
    return this.u8(0).align()
  }

  attributeBytes(type: number, data: Uint8Array): this {
    return this.u16(data.length + 4)
      .u16(type)
      .raw(data)
      .align()
  }

  attributeFlag(type: number): this {
    return this.u16(4).u16(type)
  }

  /** Starts an attribute that holds attributes; give the result to `endNest`. */
  beginNest(type: number): number {
    const start = this.length
    this.u16(0).u16(type | NLA_F_NESTED)
    return start
  }

  endNest(start: number): this {
    const length = this.length - start
    if (length > LONGEST_ATTRIBUTE) throw new RangeError(`nested attribute of ${length} bytes: 65535 is the limit`)
    this.bytes.writeUInt16LE(length, start)
    return this
  }

  nest(type: number, fill: (writer: this) => void): this {
    const start = this.beginNest(type)
    fill(this)
    return this.endNest(start)
  }

  private align(): this {
    const padding = -this.length & 3
    return padding > 0 ? this.zeros(padding) : this
  }

  private reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.length + count, HEADER))
    this.bytes.copy(grown, 0, 0, this.length)
    this.bytes = grown
  }
}
