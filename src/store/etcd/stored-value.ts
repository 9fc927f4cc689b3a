import type { Revision } from '../store.ts'

/**
 * etcd assigns the revision while it writes, so the digits cannot be in the stored bytes: a header says where they go,
 * and every reader puts them in. One byte: 0 for a value as it is, 1 for a slot, whose offset follows as u32.
 */
const PLAIN = 0
const SLOTTED = 1
const SLOT_HEADER = 5

export function encodeStored(value: Buffer, slot: number | undefined): Buffer {
  if (slot === undefined) return Buffer.concat([Buffer.from([PLAIN]), value])
  if (!Number.isInteger(slot) || slot < 0 || slot > value.length) {
    throw new RangeError(`the revision slot ${slot} is outside of the value of ${value.length} bytes`)
  }
  const stored = Buffer.allocUnsafe(SLOT_HEADER + value.length)
  stored.writeUInt8(SLOTTED, 0)
  stored.writeUInt32LE(slot, 1)
  value.copy(stored, SLOT_HEADER)
  return stored
}

/** The value in memory of its own: what etcd sent is one buffer for many values. */
export function decodeStored(key: string, stored: Buffer, revision: Revision): Buffer {
  const kind = stored[0]
  if (kind === PLAIN) {
    const value = Buffer.allocUnsafeSlow(stored.length - 1)
    stored.copy(value, 0, 1)
    return value
  }
  const slot = kind === SLOTTED && stored.length >= SLOT_HEADER ? stored.readUInt32LE(1) : Number.POSITIVE_INFINITY
  if (SLOT_HEADER + slot > stored.length) throw new Error(`the value of ${key} in etcd was not written by this store`)
  const digits = String(revision)
  const value = Buffer.allocUnsafeSlow(stored.length - SLOT_HEADER + digits.length)
  stored.copy(value, 0, SLOT_HEADER, SLOT_HEADER + slot)
  value.write(digits, slot, 'latin1')
  stored.copy(value, slot + digits.length, SLOT_HEADER + slot)
  return value
}
