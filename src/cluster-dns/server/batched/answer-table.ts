/**
 * Answers kept ready as bytes, found by the bytes of the question. Runs in a worker that is started from the text of
 * this class, so that it needs nothing from outside: no import, no constant of the module.
 */
export class AnswerTable {
  readonly #seed: number
  readonly #size: number
  readonly #hits: Float64Array
  readonly #entries = new Map<number, TableEntry>()

  /** `hits` counts the answers in the slot each entry names; `size` is how long an answer may become. */
  constructor(options: { readonly seed: number; readonly size: number; readonly hits: Float64Array }) {
    this.#seed = options.seed
    this.#size = options.size
    this.#hits = options.hits
  }

  /** `key` is a question in lower case; `packets` are whole answers to it, given by turns. */
  set(key: Uint8Array, packets: readonly Uint8Array[], slot: number): void {
    this.delete(key)
    const [packet] = packets
    if (!packet) return
    const hash = this.#hash(key, 0, key.length)
    this.#entries.set(hash, {
      key,
      slot,
      header: packet.slice(0, 12),
      bodies: packets.map((each) => each.slice(12 + key.length)),
      turn: 0,
      next: this.#entries.get(hash),
    })
  }

  delete(key: Uint8Array): void {
    const hash = this.#hash(key, 0, key.length)
    const others: TableEntry[] = []
    for (let entry = this.#entries.get(hash); entry; entry = entry.next) {
      if (entry.key.length !== key.length || !this.#isQuestion(entry.key, key, 0)) others.push(entry)
    }
    const first = others.reduceRight<TableEntry | undefined>((next, entry) => {
      entry.next = next
      return entry
    }, undefined)
    if (first) this.#entries.set(hash, first)
    else this.#entries.delete(hash)
  }

  clear(): void {
    this.#entries.clear()
  }

  /**
   * Makes the query at `start` its own answer and tells how long that is; 0 if the answer is not here or the query has
   * anything unusual about it. `serial` is the present one of the zones.
   */
  answer(bytes: Uint8Array, start: number, length: number, serial: number): number {
    // A plain query: one question, no records but perhaps one of EDNS.
    if (length < 17 || (bytes[start + 2]! & 0xfa) !== 0) return 0
    if (bytes[start + 4] !== 0 || bytes[start + 5] !== 1) return 0
    if ((bytes[start + 6]! | bytes[start + 7]! | bytes[start + 8]! | bytes[start + 9]! | bytes[start + 10]!) !== 0)
      return 0
    const questionEnd = this.#questionEnd(bytes, start + 12, start + length)
    if (questionEnd === 0) return 0
    const hasEdns = bytes[start + 11] === 1
    const limit = this.#limit(bytes, questionEnd, start + length, bytes[start + 11]!)
    if (limit === 0) return 0
    const key = start + 12
    const hash = this.#hash(bytes, key, questionEnd)
    let entry = this.#entries.get(hash)
    while (entry && (entry.key.length !== questionEnd - key || !this.#isQuestion(entry.key, bytes, key)))
      entry = entry.next
    if (!entry) return 0
    entry.turn = entry.turn + 1 < entry.bodies.length ? entry.turn + 1 : 0
    const body = entry.bodies[entry.turn]!
    const end = questionEnd + body.length
    const total = end - start + (hasEdns ? 11 : 0)
    if (total > limit) return 0
    this.#hits[entry.slot]!++
    const dnssecOk = hasEdns ? bytes[questionEnd + 7]! & 0x80 : 0
    bytes.set(body, questionEnd)
    this.#header(bytes, start, entry.header)
    // An SOA at the end: five numbers, the first of them the serial.
    if (entry.header[9] === 1) this.#number(bytes, end - 20, serial)
    if (hasEdns) this.#edns(bytes, start, end, dnssecOk)
    return total
  }

  /** Where the first question ends; 0 if it is not well made. */
  #questionEnd(bytes: Uint8Array, from: number, end: number): number {
    let at = from
    for (;;) {
      const label = bytes[at]!
      if (at >= end || label > 63) return 0
      if (label === 0) break
      at += label + 1
    }
    return at - from > 254 || at + 5 > end ? 0 : at + 5
  }

  /** How long the answer may be; 0 if behind the question is anything but one plain record of EDNS. */
  #limit(bytes: Uint8Array, at: number, end: number, additional: number): number {
    if (additional === 0) return at === end ? 512 : 0
    if (additional !== 1 || at + 11 > end || bytes[at] !== 0 || bytes[at + 1] !== 0 || bytes[at + 2] !== 41) return 0
    // Another version of EDNS, or a length that is not what is left.
    if (bytes[at + 6] !== 0 || at + 11 + ((bytes[at + 9]! << 8) | bytes[at + 10]!) !== end) return 0
    const size = (bytes[at + 3]! << 8) | bytes[at + 4]!
    return Math.min(Math.max(size, 512), this.#size)
  }

  /** Everything of the answer but the id and what the client said about recursion and checking. */
  #header(bytes: Uint8Array, start: number, header: Uint8Array): void {
    bytes[start + 2] = header[2]! | (bytes[start + 2]! & 0x01)
    bytes[start + 3] = header[3]! | (bytes[start + 3]! & 0x10)
    for (let i = 6; i < 12; i++) bytes[start + i] = header[i]!
  }

  #edns(bytes: Uint8Array, start: number, at: number, dnssecOk: number): void {
    bytes.fill(0, at, at + 11)
    bytes[at + 2] = 41
    bytes[at + 3] = 1232 >> 8
    bytes[at + 4] = 1232 & 0xff
    bytes[at + 7] = dnssecOk
    const count = ((bytes[start + 10]! << 8) | bytes[start + 11]!) + 1
    bytes[start + 10] = count >> 8
    bytes[start + 11] = count & 0xff
  }

  #number(bytes: Uint8Array, at: number, value: number): void {
    bytes[at] = value >>> 24
    bytes[at + 1] = value >>> 16
    bytes[at + 2] = value >>> 8
    bytes[at + 3] = value
  }

  /** Letters count as small ones, in names; what else is between 65 and 90 gains nothing by a mistake here. */
  #hash(bytes: Uint8Array, from: number, end: number): number {
    let hash = this.#seed
    for (let i = from; i < end; i++) {
      const byte = bytes[i]!
      hash = Math.imul(hash ^ (byte >= 65 && byte <= 90 ? byte | 32 : byte), 0x01000193)
    }
    return hash
  }

  /** The four last bytes, type and class, are compared as they are. */
  #isQuestion(key: Uint8Array, bytes: Uint8Array, from: number): boolean {
    const nameEnd = key.length - 4
    for (let i = 0; i < nameEnd; i++) {
      const byte = bytes[from + i]!
      if (key[i] !== (byte >= 65 && byte <= 90 ? byte | 32 : byte)) return false
    }
    for (let i = nameEnd; i < key.length; i++) if (key[i] !== bytes[from + i]) return false
    return true
  }
}

interface TableEntry {
  readonly key: Uint8Array
  readonly slot: number
  readonly header: Uint8Array
  /** What follows the question, in each of the ways it can be answered. */
  readonly bodies: readonly Uint8Array[]
  turn: number
  next: TableEntry | undefined
}
