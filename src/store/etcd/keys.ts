import type { Entry } from '../store.ts'
import type { KeyValue } from './messages.ts'
import { decodeStored } from './stored-value.ts'

const ZERO = Buffer.from([0])

/** The range of all keys that start with the prefix: its bytes, and the first bytes behind them. */
export function prefixRange(prefix: Buffer): { key: Buffer; range_end: Buffer } {
  let last = prefix.length - 1
  while (last >= 0 && prefix[last] === 0xff) last--
  // Nothing but 0xff, or nothing at all: there is no end. etcd writes both "from the start" and "to the end" as a zero byte.
  if (last < 0) return { key: prefix.length > 0 ? prefix : ZERO, range_end: ZERO }
  const end = Buffer.from(prefix.subarray(0, last + 1))
  end[last] = end[last]! + 1
  return { key: prefix, range_end: end }
}

/** Where a list goes on behind the key `after`. */
export function startAfter(start: Buffer, after: Buffer | undefined): Buffer {
  if (!after || after.compare(start) < 0) return start
  return Buffer.concat([after, ZERO])
}

/** Keys as the store's users know them, and as they are in etcd below the store's own prefix. */
export class KeySpace {
  readonly #root: Buffer

  constructor(root: string) {
    this.#root = Buffer.from(root)
  }

  toEtcd(key: string): Buffer {
    return this.#root.length === 0 ? Buffer.from(key) : Buffer.concat([this.#root, Buffer.from(key)])
  }

  fromEtcd(key: Buffer): string {
    return key.toString('utf8', this.#root.length)
  }

  entry({ key, value, mod_revision = 0, create_revision = 0 }: KeyValue): Entry {
    const name = this.fromEtcd(key ?? ZERO)
    // etcd does not send an empty field, but a stored value is never empty.
    const own = decodeStored(name, value ?? Buffer.alloc(0), mod_revision)
    return { key: name, value: own, revision: mod_revision, created: create_revision }
  }
}

/** Written for a moment to learn how far a watch has come; never shown. */
const MARKER = '\0progress'

export const markerOf = (prefix: string): string => prefix + MARKER
export const isMarker = (key: string): boolean => key.endsWith(MARKER)
