/** Split in two when longer: short enough to insert by moving, long enough that there are few of them. */
const CHUNK = 512

const SURROGATE = /[\ud800-\udfff]/

/**
 * The live keys in byte order of their UTF-8 form, in chunks of a few hundred: insertion moves a few pointers, and the
 * number of keys in a range is a sum over chunks.
 */
export class KeyIndex {
  #chunks: string[][] = []
  /** UTF-16 order is byte order until a key outside the basic plane comes. */
  #surrogates = false
  size = 0

  add(key: string): void {
    this.#note(key)
    const at = this.#chunkOf(key)
    const chunk = this.#chunks[at]
    this.size++
    if (!chunk) {
      const last = this.#chunks.at(-1)
      if (!last) this.#chunks.push([key])
      else this.#insert(this.#chunks.length - 1, last, last.length, key)
      return
    }
    const position = this.#positionIn(chunk, key)
    if (chunk[position] === key) this.size--
    else this.#insert(at, chunk, position, key)
  }

  delete(key: string): void {
    const at = this.#chunkOf(key)
    const chunk = this.#chunks[at]
    if (!chunk) return
    const position = this.#positionIn(chunk, key)
    if (chunk[position] !== key) return
    this.size--
    chunk.splice(position, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** How many keys start with `prefix` and come after the key `after`. */
  count(prefix: string, after: string | undefined): number {
    return Math.max(0, this.#rankOfEnd(prefix) - this.#rank(...this.#start(prefix, after)))
  }

  /** Visits the keys that start with `prefix` and come after `after`, in order, until `visit` returns false. */
  visit(prefix: string, after: string | undefined, visit: (key: string) => boolean): void {
    let [at, position] = this.#start(prefix, after)
    for (; at < this.#chunks.length; at++, position = 0) {
      const chunk = this.#chunks[at]!
      for (; position < chunk.length; position++) {
        const key = chunk[position]!
        if (!key.startsWith(prefix) || !visit(key)) return
      }
    }
  }

  /** The order of keys: by bytes of UTF-8, which is by code point. */
  isBefore(a: string, b: string): boolean {
    return this.#surrogates ? isBeforeByCodePoint(a, b) : a < b
  }

  #note(text: string): void {
    if (!this.#surrogates && SURROGATE.test(text)) this.#surrogates = true
  }

  #insert(at: number, chunk: string[], position: number, key: string): void {
    if (position === chunk.length) chunk.push(key)
    else chunk.splice(position, 0, key)
    if (chunk.length <= CHUNK) return
    // Keys often come in ascending order: then the left half is full for good.
    const half = position >= CHUNK ? CHUNK : CHUNK / 2
    this.#chunks.splice(at + 1, 0, chunk.splice(half))
  }

  /** The first chunk whose last key is not before `key`. */
  #chunkOf(key: string): number {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const chunk = this.#chunks[middle]!
      if (this.isBefore(chunk[chunk.length - 1]!, key)) low = middle + 1
      else high = middle
    }
    return low
  }

  #positionIn(chunk: readonly string[], key: string): number {
    let low = 0
    let high = chunk.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.isBefore(chunk[middle]!, key)) low = middle + 1
      else high = middle
    }
    return low
  }

  #start(prefix: string, after: string | undefined): [number, number] {
    this.#note(prefix)
    if (after !== undefined) this.#note(after)
    const from = after === undefined || this.isBefore(after, prefix) ? prefix : after
    const at = this.#chunkOf(from)
    const chunk = this.#chunks[at]
    if (!chunk) return [at, 0]
    const position = this.#positionIn(chunk, from)
    if (from !== after || chunk[position] !== after) return [at, position]
    return position + 1 < chunk.length ? [at, position + 1] : [at + 1, 0]
  }

  #rank(at: number, position: number): number {
    let rank = position
    for (let i = 0; i < at; i++) rank += this.#chunks[i]!.length
    return rank
  }

  /** All keys before the range of a prefix or in it: a condition that holds up to the range's end and never after. */
  #rankOfEnd(prefix: string): number {
    const within = (key: string) => this.isBefore(key, prefix) || key.startsWith(prefix)
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const chunk = this.#chunks[middle]!
      if (within(chunk[chunk.length - 1]!)) low = middle + 1
      else high = middle
    }
    const chunk = this.#chunks[low]
    if (!chunk) return this.size
    let position = 0
    let end = chunk.length
    while (position < end) {
      const middle = (position + end) >>> 1
      if (within(chunk[middle]!)) position = middle + 1
      else end = middle
    }
    return this.#rank(low, position)
  }
}

function isBeforeByCodePoint(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length)
  let i = 0
  while (i < length && a.charCodeAt(i) === b.charCodeAt(i)) i++
  if (i === length) return a.length < b.length
  const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff
  const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)]
  // A surrogate stands for a code point above all others of one unit.
  if (isSurrogate(left) !== isSurrogate(right)) return isSurrogate(right)
  return left < right
}
