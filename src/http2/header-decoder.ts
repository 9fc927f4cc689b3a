import { DynamicTable } from './dynamic-table.ts'
import { HpackError } from './hpack-error.ts'
import { fieldSize, type HeaderField, STATIC_TABLE } from './hpack-tables.ts'
import { huffmanDecode } from './huffman.ts'
import { latin1 } from './latin1.ts'

export { HpackError }

/** The list is larger than allowed. What is left of the block was not read, so the tables no longer agree. */
export class HeadersTooLargeError extends Error {}

export interface HeaderLimits {
  /** What is advertised as SETTINGS_HEADER_TABLE_SIZE. */
  readonly tableBytes: number
  /** Of all fields of a block together, those that are only named by number too: a byte may stand for kilobytes. */
  readonly listBytes: number
}

const NOTHING: Buffer = Buffer.alloc(0)
const LARGEST_INTEGER = 2 ** 31 - 1
const LAST_SHIFT = 28
/** Until a client says otherwise, whatever is advertised. */
const FIRST_TABLE_BYTES = 4096

/**
 * Reads the header blocks of one connection (RFC 7541), in the order they came, since each may refer to fields of those
 * before it. After an error the connection must end.
 */
export class HeaderDecoder {
  readonly #limits: HeaderLimits
  readonly #table: DynamicTable
  #block = NOTHING
  #at = 0
  #listBytes = 0
  #fields: string[] = []
  #tokenBytes = NOTHING
  #token = ''

  constructor(limits: HeaderLimits) {
    this.#limits = limits
    this.#table = new DynamicTable(limits.tableBytes)
    this.#table.resize(Math.min(limits.tableBytes, FIRST_TABLE_BYTES))
  }

  /** One whole header block. Names and values in turn: [name, value, name, value, ...]. */
  decode(block: Buffer): string[] {
    const fields: string[] = []
    this.#block = block
    this.#fields = fields
    this.#at = 0
    this.#listBytes = 0
    while (this.#at < block.length && (block[this.#at]! & 0xe0) === 0x20) this.#readTableSize()
    while (this.#at < block.length) this.#readField(block[this.#at]!)
    return fields
  }

  #readField(first: number): void {
    if (first & 0x80) this.#readIndexed()
    else if (first & 0x40) this.#readIndexing()
    else if (first & 0x20) throw new HpackError('the table changes its size after a field')
    else this.#readLiteral()
  }

  #readTableSize(): void {
    const bytes = this.#readInteger(5)
    if (bytes > this.#limits.tableBytes) throw new HpackError(`a table of ${bytes} bytes is more than was offered`)
    this.#table.resize(bytes)
  }

  #readIndexed(): void {
    const { name, value, size } = this.#lookUp(this.#readInteger(7))
    this.#push(name, value, size)
  }

  /** A literal that can be named by number from now on. */
  #readIndexing(): void {
    const name = this.#readName(6)
    const value = this.#readValue(name)
    this.#push(name, value, fieldSize(name, value))
    this.#table.add(name, value)
  }

  /** Without indexing, or never indexed: the difference matters only to those who pass it on. */
  #readLiteral(): void {
    const name = this.#readName(4)
    const value = this.#readValue(name)
    this.#push(name, value, fieldSize(name, value))
  }

  #push(name: string, value: string, size: number): void {
    this.#listBytes += size
    if (this.#listBytes > this.#limits.listBytes) throw new HeadersTooLargeError('the header list is too large')
    this.#fields.push(name, value)
  }

  #readName(prefixBits: number): string {
    const index = this.#readInteger(prefixBits)
    return index === 0 ? this.#readString() : this.#lookUp(index).name
  }

  #lookUp(index: number): HeaderField {
    const field =
      index <= STATIC_TABLE.length ? STATIC_TABLE[index - 1] : this.#table.at(index - STATIC_TABLE.length - 1)
    if (field === undefined) throw new HpackError(`no field has number ${index}`)
    return field
  }

  #readValue(name: string): string {
    return name === 'authorization' ? this.#readToken() : this.#readString()
  }

  /**
   * A token is a kilobyte of the same bytes, which many clients keep out of the table and so send with each request, and
   * others again when enough paths have pushed it out.
   */
  #readToken(): string {
    const start = this.#at
    const last = this.#tokenBytes
    const end = start + last.length
    if (last.length > 0 && end <= this.#block.length && this.#block.compare(last, 0, last.length, start, end) === 0) {
      this.#at = end
      return this.#token
    }
    this.#token = this.#readString()
    this.#tokenBytes = Buffer.from(this.#block.subarray(start, this.#at))
    return this.#token
  }

  #readString(): string {
    if (this.#at >= this.#block.length) throw new HpackError('the block ends before a string')
    const isHuffman = this.#block[this.#at]! >= 0x80
    const length = this.#readInteger(7)
    const start = this.#at
    const end = start + length
    if (end > this.#block.length) throw new HpackError('the block ends within a string')
    this.#at = end
    return isHuffman ? huffmanDecode(this.#block, start, end) : latin1(this.#block, start, end)
  }

  /** The last bits of the byte that comes next, which is there, and of more if they are all ones. */
  #readInteger(prefixBits: number): number {
    const most = (1 << prefixBits) - 1
    const prefix = this.#block[this.#at++]! & most
    return prefix < most ? prefix : this.#readLongInteger(prefix)
  }

  #readLongInteger(prefix: number): number {
    let value = prefix
    for (let shift = 0; shift <= LAST_SHIFT; shift += 7) {
      const byte = this.#block[this.#at++]
      if (byte === undefined) throw new HpackError('the block ends within an integer')
      value += (byte & 0x7f) * 2 ** shift
      if (value > LARGEST_INTEGER) break
      if (byte < 0x80) return value
    }
    throw new HpackError('an integer is too large')
  }
}
