import { constants, inflateRawSync } from 'node:zlib'
import { SPDY_DICTIONARY } from './dictionary.ts'

/** Names are in lower case. */
export type SpdyHeaders = Readonly<Record<string, string>>

const WINDOW_BYTES = 32 * 1024
const MAX_BLOCK_BYTES = 64 * 1024
const ZLIB_HEADER = Buffer.from([0x78, 0x01])
const PRESET_DICTIONARY = 0x20
/** An empty block: whoever reads, Go's inflate above all, hands on what came before it. */
const SYNC = Buffer.from([0, 0, 0, 0xff, 0xff])

/**
 * All header blocks of one direction are one zlib stream. Each ends at a byte boundary (a sync flush), so each can be
 * inflated by itself, with what came before as its dictionary.
 */
export class HeaderDecoder {
  #window: Buffer | undefined

  decode(block: Buffer): SpdyHeaders {
    let deflated = block
    if (!this.#window) {
      const isPreset = (block[1]! & PRESET_DICTIONARY) !== 0
      this.#window = isPreset ? SPDY_DICTIONARY : Buffer.alloc(0)
      deflated = block.subarray(isPreset ? 6 : 2)
    }
    const text = inflateRawSync(deflated, {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: MAX_BLOCK_BYTES,
      ...(this.#window.length > 0 && { dictionary: this.#window }),
    })
    this.#window = Buffer.concat([this.#window, text]).subarray(-WINDOW_BYTES)
    return parseHeaders(text)
  }
}

/** Writes blocks that are stored, not deflated: headers are few and short, and so no state is needed. */
export class HeaderEncoder {
  #isFirst = true

  encode(headers: SpdyHeaders): Buffer {
    const text = formatHeaders(headers)
    if (text.length > MAX_BLOCK_BYTES - 1) throw new Error('the headers of a stream are too long')
    const stored = Buffer.alloc(5)
    stored.writeUInt16LE(text.length, 1)
    stored.writeUInt16LE(~text.length & 0xffff, 3)
    const parts = this.#isFirst ? [ZLIB_HEADER, stored, text, SYNC] : [stored, text, SYNC]
    this.#isFirst = false
    return Buffer.concat(parts)
  }
}

function parseHeaders(text: Buffer): SpdyHeaders {
  const headers: Record<string, string> = {}
  let at = 4
  const next = () => {
    const length = text.readUInt32BE(at)
    const end = at + 4 + length
    if (end > text.length) throw new RangeError('a header is longer than its block')
    const value = text.toString('utf8', at + 4, end)
    at = end
    return value
  }
  for (let left = text.readUInt32BE(0); left > 0; left--) {
    const name = next().toLowerCase()
    headers[name] = next()
  }
  return headers
}

function formatHeaders(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers)
  const parts = [uint32(entries.length)]
  for (const entry of entries) {
    for (const part of [Buffer.from(entry[0].toLowerCase()), Buffer.from(entry[1])])
      parts.push(uint32(part.length), part)
  }
  return Buffer.concat(parts)
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
