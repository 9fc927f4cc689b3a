/**
 * Follows the frames of a zstd stream without decoding them (RFC 8878), to know the window of each before a decoder
 * allocates it: a header of six bytes can ask for gigabytes.
 */
const MAGIC = 0xfd2fb528
const SKIPPABLE = 0x184d2a50
const LONGEST_HEADER = 18
const CHECKSUM = 4
const BLOCK_HEADER = 3
const RUN = 1

type Part = 'magic' | 'skippable' | 'frame' | 'block'

export class ZstdFrames {
  readonly #limit: number
  /** Of the current frame. */
  #window = 1
  #part: Part = 'magic'
  #header = Buffer.alloc(LONGEST_HEADER)
  #filled = 0
  #wanted = 4
  /** Bytes of a block, or of a frame that is skipped, still to come. */
  #left = 0
  #hasChecksum = false

  constructor(largestWindow: number) {
    this.#limit = largestWindow
  }

  /** The largest window of the frames in these bytes. Throws if it is beyond the limit, or if this is no zstd. */
  check(bytes: Uint8Array): number {
    let largest = this.#window
    for (let at = 0; at < bytes.length; ) {
      const skipped = Math.min(this.#left, bytes.length - at)
      this.#left -= skipped
      at += skipped
      if (at === bytes.length) break
      this.#header[this.#filled++] = bytes[at++]!
      if (this.#filled === this.#wanted) this.#next()
      largest = Math.max(largest, this.#window)
    }
    return largest
  }

  #next(): void {
    if (this.#part === 'magic') this.#magic(this.#header.readUInt32LE(0))
    else if (this.#part === 'skippable') this.#expect('magic', 4, this.#header.readUInt32LE(0))
    else if (this.#part === 'block') this.#block(this.#header.readUIntLE(0, BLOCK_HEADER))
    else if (this.#filled === 1) this.#wanted = frameHeaderLength(this.#header[0]!)
    else this.#frame()
  }

  #magic(magic: number): void {
    if (magic === MAGIC) this.#expect('frame', 1)
    // Sixteen numbers are for frames that decoders skip.
    else if ((magic & ~0xf) >>> 0 === SKIPPABLE) this.#expect('skippable', 4)
    else throw new Error('not a zstd frame')
  }

  #frame(): void {
    const descriptor = this.#header[0]!
    this.#hasChecksum = (descriptor & 4) !== 0
    this.#window = windowOf(this.#header, this.#wanted)
    if (this.#window > this.#limit) throw new Error(`a zstd window of ${this.#window} bytes`)
    this.#expect('block', BLOCK_HEADER)
  }

  #block(header: number): void {
    const isLast = (header & 1) !== 0
    const size = ((header >> 1) & 3) === RUN ? 1 : header >> 3
    if (isLast) this.#expect('magic', 4, size + (this.#hasChecksum ? CHECKSUM : 0))
    else this.#expect('block', BLOCK_HEADER, size)
  }

  #expect(part: Part, wanted: number, left = 0): void {
    this.#part = part
    this.#wanted = wanted
    this.#left = left
    this.#filled = 0
  }
}

const isSingleSegment = (descriptor: number) => (descriptor & 0x20) !== 0
const dictionaryLength = (descriptor: number) => [0, 1, 2, 4][descriptor & 3]!
const sizeLength = (descriptor: number) => [isSingleSegment(descriptor) ? 1 : 0, 2, 4, 8][descriptor >> 6]!

const frameHeaderLength = (descriptor: number) =>
  1 + (isSingleSegment(descriptor) ? 0 : 1) + dictionaryLength(descriptor) + sizeLength(descriptor)

/** The window that the header gives, or the size of the content where that is the window. */
function windowOf(header: Buffer, length: number): number {
  const descriptor = header[0]!
  if (!isSingleSegment(descriptor)) {
    const base = 2 ** (10 + (header[1]! >> 3))
    return base + (base / 8) * (header[1]! & 7)
  }
  const bytes = sizeLength(descriptor)
  if (bytes === 8) return Number(header.readBigUInt64LE(length - 8))
  return header.readUIntLE(length - bytes, bytes) + (bytes === 2 ? 256 : 0)
}
