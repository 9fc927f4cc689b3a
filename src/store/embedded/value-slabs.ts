import type { Entry } from '../store.ts'

const SLAB_BYTES = 1 << 16
/** Larger values get memory of their own. */
const LARGE = SLAB_BYTES / 4

/**
 * The values of a store that opens are slices of what was read: copying all of them would take as long as reading them.
 * Where less than half of a buffer is in use, its values are copied out, so that twice the values is all that is held.
 */
export function releaseSparseBuffers(entries: Iterable<Entry>): void {
  const all: { value: Buffer }[] = [...entries]
  const used = new Map<ArrayBufferLike, number>()
  for (const { value } of all) used.set(value.buffer, (used.get(value.buffer) ?? 0) + value.length)
  const slabs = new ValueSlabs()
  for (const entry of all) {
    const { buffer, length } = entry.value
    if (used.get(buffer)! * 2 < buffer.byteLength) entry.value = slabs.copy(entry.value, 0, length)
  }
}

/** Many values in one buffer, which is cheaper than one allocation for each. */
class ValueSlabs {
  #slab: Buffer = Buffer.alloc(0)
  #used = 0

  /** A copy of the bytes that does not keep their source alive. */
  copy(source: Buffer, start: number, end: number): Buffer {
    const length = end - start
    if (length > LARGE) {
      const own = Buffer.allocUnsafeSlow(length)
      source.copy(own, 0, start, end)
      return own
    }
    if (this.#used + length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#used = 0
    }
    source.copy(this.#slab, this.#used, start, end)
    const value = this.#slab.subarray(this.#used, this.#used + length)
    this.#used += length
    return value
  }
}
