const HEAD_BYTES = 8
const LARGEST_INPUT = 1024 * 1024

/** The input that is being parsed, in memory that another thread can read. */
export class InputSlot {
  readonly #head: Int32Array
  readonly #bytes: Uint8Array

  static allocate = (): SharedArrayBuffer => new SharedArrayBuffer(HEAD_BYTES + LARGEST_INPUT)

  constructor(memory: SharedArrayBuffer) {
    this.#head = new Int32Array(memory, 0, 2)
    this.#bytes = new Uint8Array(memory, HEAD_BYTES)
  }

  /** Inputs written so far. */
  get count(): number {
    return Atomics.load(this.#head, 0)
  }

  write(input: Buffer): void {
    this.#bytes.set(input.subarray(0, LARGEST_INPUT))
    Atomics.store(this.#head, 1, input.length)
    Atomics.add(this.#head, 0, 1)
  }

  read(): Buffer {
    return Buffer.from(this.#bytes.slice(0, Atomics.load(this.#head, 1)))
  }
}
