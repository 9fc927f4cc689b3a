/** A tar as it streams in: entries, their bytes, their ends. Nothing is kept but extended headers, which have a limit. */
import { badImage } from '../image-error.ts'
import { parsePax, type TarEntry, withExtensions } from './extended-header.ts'
import { BLOCK, parseHeader, type TarHeader } from './tar-header.ts'

export type TarEvent =
  | { readonly type: 'entry'; readonly entry: TarEntry }
  | { readonly type: 'data'; readonly bytes: Buffer }
  | { readonly type: 'end' }

const END: TarEvent = { type: 'end' }
const EMPTY: Buffer = Buffer.alloc(0)
const ZEROS = Buffer.alloc(BLOCK)
/** Types that have no data, whatever their size says. */
const WITHOUT_DATA = new Set(['1', '2', '3', '4', '5', '6'])
const EXTENSIONS = new Set(['x', 'g', 'L', 'K'])

/** `push` bytes, then `next` until it has nothing more to tell. */
export class TarReader {
  readonly #headerLimit: number
  #chunk = EMPTY
  #at = 0
  /** Bytes of the current entry still to come, and of the filling up to a whole block. */
  #left = 0
  #padding = 0
  #inEntry = false
  #finished = false
  #global = new Map<string, Buffer>()
  #pax = new Map<string, Buffer>()
  #extension: { readonly type: string; readonly parts: Buffer[] } | undefined

  constructor(headerLimit: number) {
    this.#headerLimit = headerLimit
  }

  push(bytes: Buffer): void {
    // What follows the end is filling.
    if (this.#finished) return
    this.#chunk = this.#at < this.#chunk.length ? Buffer.concat([this.#chunk.subarray(this.#at), bytes]) : bytes
    this.#at = 0
  }

  next(): TarEvent | undefined {
    while (!this.#finished) {
      if (this.#left > 0) {
        const bytes = this.#take(this.#left)
        if (bytes.length === 0) return undefined
        this.#left -= bytes.length
        if (!this.#extension) return { type: 'data', bytes }
        this.#extension.parts.push(Buffer.from(bytes))
        continue
      }
      if (this.#inEntry) {
        this.#inEntry = false
        return END
      }
      if (this.#extension) this.#endExtension()
      if (this.#padding > 0) {
        const skipped = this.#take(this.#padding).length
        if (skipped === 0) return undefined
        this.#padding -= skipped
        continue
      }
      if (this.#chunk.length - this.#at < BLOCK) return undefined
      const event = this.#header(this.#take(BLOCK))
      if (event) return event
    }
    return undefined
  }

  /** The stream has ended; so must the tar. */
  finish(): void {
    if (this.#finished) return
    if (this.#left > 0 || this.#inEntry || this.#extension || this.#at < this.#chunk.length)
      throw badImage('the layer ends in the middle of an entry')
  }

  #take(wanted: number): Buffer {
    const bytes = this.#chunk.subarray(this.#at, this.#at + wanted)
    this.#at += bytes.length
    return bytes
  }

  #header(block: Buffer): TarEvent | undefined {
    if (block.equals(ZEROS)) {
      this.#finished = true
      this.#chunk = EMPTY
      return undefined
    }
    const header = parseHeader(block)
    if (EXTENSIONS.has(header.type)) return this.#beginExtension(header)
    const entry = withExtensions(header, this.#global.size === 0 ? this.#pax : new Map([...this.#global, ...this.#pax]))
    this.#pax = new Map()
    this.#expect(WITHOUT_DATA.has(entry.type) ? 0 : entry.size)
    this.#inEntry = true
    return { type: 'entry', entry }
  }

  #beginExtension(header: TarHeader): undefined {
    if (header.size > this.#headerLimit) throw badImage(`a tar has an extended header of ${header.size} bytes`)
    this.#extension = { type: header.type, parts: [] }
    this.#expect(header.size)
    return undefined
  }

  #expect(size: number): void {
    if (!Number.isSafeInteger(size) || size < 0) throw badImage('a tar entry has a bad size')
    this.#left = size
    this.#padding = -size & (BLOCK - 1)
  }

  #endExtension(): void {
    const { type, parts } = this.#extension!
    this.#extension = undefined
    const bytes = Buffer.concat(parts)
    if (type === 'x') parsePax(bytes, this.#pax)
    else if (type === 'g') parsePax(bytes, this.#global)
    else this.#pax.set(type === 'L' ? 'path' : 'linkpath', untilZero(bytes))
    for (const kept of [this.#global, this.#pax])
      if (totalOf(kept) > this.#headerLimit) throw badImage('the extended headers of a tar entry are too large')
  }
}

function untilZero(bytes: Buffer): Buffer {
  const zero = bytes.indexOf(0)
  return zero < 0 ? bytes : bytes.subarray(0, zero)
}

function totalOf(pax: ReadonlyMap<string, Buffer>): number {
  let total = 0
  for (const [key, value] of pax) total += key.length + value.length
  return total
}
