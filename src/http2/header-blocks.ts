import * as h2 from './frames.ts'
import { HeaderDecoder, HeadersTooLargeError, HpackError } from './header-decoder.ts'

/** As large as HPACK's table is unless somebody says otherwise. */
const TABLE_BYTES = 4096
/** What all headers of a request may be together; certificates and tokens are a few KB. */
export const MAX_HEADER_LIST_BYTES = 256 * 1024
const MAX_BLOCK_BYTES = 128 * 1024
const MAX_FRAMES = 32

/** Called with the fields of a block: names and values in turn. */
type OnHeaders = (id: number, fields: string[], isLast: boolean) => void

/** Puts header blocks together from their frames, and reads them. */
export class HeaderBlocks {
  readonly #decoder = new HeaderDecoder({ tableBytes: TABLE_BYTES, listBytes: MAX_HEADER_LIST_BYTES })
  readonly #onHeaders: OnHeaders
  #id = 0
  #isLast = false
  #parts: Buffer[] = []

  constructor(onHeaders: OnHeaders) {
    this.#onHeaders = onHeaders
  }

  /** Until a block is whole nothing else may come. */
  get isUnfinished(): boolean {
    return this.#id !== 0
  }

  headers(flags: number, id: number, payload: Buffer): void {
    let part = h2.withoutPadding(payload, flags)
    if (flags & h2.WITH_PRIORITY) {
      if (part.length < PRIORITY_BYTES) throw new h2.ConnectionError(h2.FRAME_SIZE_ERROR, 'no room for a priority')
      part = part.subarray(PRIORITY_BYTES)
    }
    const isLast = (flags & h2.END_STREAM) !== 0
    if (flags & h2.END_HEADERS) {
      this.#onHeaders(id, this.#decode(part), isLast)
      return
    }
    this.#id = id
    this.#isLast = isLast
    this.#parts = [Buffer.from(part)]
  }

  continuation(flags: number, id: number, payload: Buffer): void {
    if (id !== this.#id) throw new h2.ConnectionError(h2.PROTOCOL_ERROR, 'nothing to continue')
    this.#parts.push(Buffer.from(payload))
    const bytes = this.#parts.reduce((sum, { length }) => sum + length, 0)
    if (bytes > MAX_BLOCK_BYTES || this.#parts.length > MAX_FRAMES)
      throw new h2.ConnectionError(h2.ENHANCE_YOUR_CALM, 'too many headers')
    if ((flags & h2.END_HEADERS) === 0) return
    this.#id = 0
    this.#onHeaders(id, this.#decode(Buffer.concat(this.#parts)), this.#isLast)
  }

  #decode(block: Buffer): string[] {
    try {
      return this.#decoder.decode(block)
    } catch (error) {
      if (error instanceof HpackError) throw new h2.ConnectionError(h2.COMPRESSION_ERROR, error.message)
      if (error instanceof HeadersTooLargeError) throw new h2.ConnectionError(h2.ENHANCE_YOUR_CALM, error.message)
      throw error
    }
  }
}

const PRIORITY_BYTES = 5
