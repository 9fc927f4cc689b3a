/** Bytes, and the same memory as 32-bit numbers: questions are hashed and compared four bytes at a time. */
export interface PacketMemory {
  readonly bytes: Uint8Array
  readonly words: Uint32Array
}

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
    const question = this.#inWords(key)
    const hash = this.#hash(question, 0, key.length)
    this.#entries.set(hash, {
      question,
      length: key.length,
      slot,
      header: packet.slice(0, 12),
      bodies: packets.map((each) => each.slice(12 + key.length)),
      turn: 0,
      next: this.#entries.get(hash),
    })
  }

  delete(key: Uint8Array): void {
    const question = this.#inWords(key)
    const hash = this.#hash(question, 0, key.length)
    const others: TableEntry[] = []
    for (let entry = this.#entries.get(hash); entry; entry = entry.next) {
      if (!this.#isQuestion(entry, question, 0, key.length)) others.push(entry)
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
   * anything unusual about it. `start` is a multiple of four; `serial` is the present one of the zones.
   */
  answer(memory: PacketMemory, start: number, length: number, serial: number): number {
    const { bytes } = memory
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
    let entry = this.#entries.get(this.#hash(memory, key, questionEnd))
    while (entry && !this.#isQuestion(entry, memory, key, questionEnd - key)) entry = entry.next
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

  #inWords(key: Uint8Array): PacketMemory {
    const bytes = new Uint8Array((key.length + 3) & ~3)
    bytes.set(key)
    return { bytes, words: new Uint32Array(bytes.buffer) }
  }

  /** Letters count as small ones; what else differs by that bit alone is told apart when questions are compared. */
  #hash({ bytes, words }: PacketMemory, from: number, end: number): number {
    let hash = this.#seed
    const rest = end - ((end - from) & 3)
    for (let i = from >> 2; i < rest >> 2; i++) {
      hash = Math.imul(hash ^ (words[i]! | 0x20202020), 0x9e3779b1)
      hash = (hash << 13) | (hash >>> 19)
    }
    for (let i = rest; i < end; i++) hash = Math.imul(hash ^ (bytes[i]! | 32), 0x01000193)
    return hash
  }

  #isQuestion({ question, length }: TableEntry, memory: PacketMemory, from: number, asked: number): boolean {
    if (length !== asked) return false
    const first = from >> 2
    const whole = length >> 2
    for (let i = 0; i < whole; i++)
      if (question.words[i] !== memory.words[first + i]) return this.#isInOtherLetters(question, memory, from, length)
    for (let i = whole << 2; i < length; i++)
      if (question.bytes[i] !== memory.bytes[from + i]) return this.#isInOtherLetters(question, memory, from, length)
    return true
  }

  /** The four last bytes, type and class, are compared as they are. */
  #isInOtherLetters(question: PacketMemory, { bytes }: PacketMemory, from: number, length: number): boolean {
    for (let i = 0; i < length; i++) {
      const byte = bytes[from + i]!
      const isLarge = i < length - 4 && byte >= 65 && byte <= 90
      if (question.bytes[i] !== (isLarge ? byte | 32 : byte)) return false
    }
    return true
  }
}

interface TableEntry {
  readonly question: PacketMemory
  /** Of the question, in bytes. */
  readonly length: number
  readonly slot: number
  readonly header: Uint8Array
  /** What follows the question, in each of the ways it can be answered. */
  readonly bodies: readonly Uint8Array[]
  turn: number
  next: TableEntry | undefined
}
