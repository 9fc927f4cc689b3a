import { crc32 } from 'node:zlib'
import type { Revision } from '../store.ts'
import type { Commit } from './state.ts'

/**
 * A frame is one write to the log and what one sync makes durable: the commits of one batch, under one checksum.
 *
 *   magic u32 | crc32 u32 of all that follows | length u32 | salt u32 of the segment | offset u32 of the frame |
 *   records u32 | revision u48 before the frame | u16 zero | records... | zeros up to a multiple of 8
 *
 * A commit's record is its kind, the number of writes and the writes; a compaction's is its kind and the revision.
 */
const MAGIC = 0x46504d53
export const FRAME_HEADER = 32
export const ALIGNMENT = 8
const COMMIT = 1
const COMPACTION = 2
const DELETION = 0xffffffff
const WRITE_HEADER = 6
export const MAX_KEY_BYTES = 0xffff

export type LogRecord = { readonly commit: Commit } | { readonly compactTo: Revision }

export interface FrameWrite {
  readonly key: string
  /** Where in the segment the value is; -1 for a deletion. */
  readonly start: number
  readonly end: number
}

export interface FrameVisitor {
  commit(revision: Revision, segment: Buffer, writes: readonly FrameWrite[]): void
  compaction(upTo: Revision): void
}

/** Where a frame stands: only the frame written there, in that segment, is valid there. */
export interface FramePlace {
  readonly salt: number
  readonly offset: number
}

export const alignedLength = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT

/** An upper bound of the bytes a record takes. */
export function recordBound(record: LogRecord): number {
  if (!('commit' in record)) return 7
  let bytes = 5
  for (const { key, entry } of record.commit.changes)
    bytes += WRITE_HEADER + key.length * 3 + (entry?.value.length ?? 0)
  return bytes
}

/** Writes the frame to the start of `target` and returns its length, padding included. */
export function encodeFrame(
  target: Buffer,
  records: readonly LogRecord[],
  before: Revision,
  place: FramePlace,
): number {
  let end = FRAME_HEADER
  for (const record of records) end = encodeRecord(target, end, record)
  target.writeUInt32LE(MAGIC, 0)
  target.writeUInt32LE(end, 8)
  target.writeUInt32LE(place.salt, 12)
  target.writeUInt32LE(place.offset, 16)
  target.writeUInt32LE(records.length, 20)
  target.writeUIntLE(before, 24, 6)
  target.writeUInt16LE(0, 30)
  target.writeUInt32LE(crc32(target.subarray(8, end)), 4)
  const padded = alignedLength(end)
  return padded === end ? end : target.fill(0, end, padded) && padded
}

function encodeRecord(target: Buffer, start: number, record: LogRecord): number {
  let end = start
  if (!('commit' in record)) {
    end = target.writeUInt8(COMPACTION, end)
    return target.writeUIntLE(record.compactTo, end, 6)
  }
  end = target.writeUInt8(COMMIT, end)
  end = target.writeUInt32LE(record.commit.changes.length, end)
  for (const { key, entry } of record.commit.changes) {
    target.writeUInt32LE(entry ? entry.value.length : DELETION, end)
    const keyLength = target.write(key, end + WRITE_HEADER, 'utf8')
    target.writeUInt16LE(keyLength, end + 4)
    end += WRITE_HEADER + keyLength
    if (entry) end += entry.value.copy(target, end)
  }
  return end
}

export interface FrameHeader {
  readonly length: number
  readonly before: Revision
}

/** The header of the frame at the place, if all of the frame is there and its checksum holds. */
export function validFrame(segment: Buffer, place: FramePlace): FrameHeader | undefined {
  const { offset } = place
  if (offset + FRAME_HEADER > segment.length || segment.readUInt32LE(offset) !== MAGIC) return undefined
  const length = segment.readUInt32LE(offset + 8)
  if (length < FRAME_HEADER || offset + length > segment.length) return undefined
  if (segment.readUInt32LE(offset + 12) !== place.salt || segment.readUInt32LE(offset + 16) !== offset) return undefined
  if (crc32(segment.subarray(offset + 8, offset + length)) !== segment.readUInt32LE(offset + 4)) return undefined
  return { length, before: segment.readUIntLE(offset + 24, 6) }
}

/** Tells the visitor what is in a valid frame; returns the revision after it. */
export function readFrame(segment: Buffer, offset: number, visitor: FrameVisitor): Revision {
  let revision = segment.readUIntLE(offset + 24, 6)
  let at = offset + FRAME_HEADER
  for (let records = segment.readUInt32LE(offset + 20); records > 0; records--) {
    const kind = segment.readUInt8(at++)
    if (kind === COMPACTION) {
      visitor.compaction(segment.readUIntLE(at, 6))
      at += 6
      continue
    }
    const writes = new Array<FrameWrite>(segment.readUInt32LE(at))
    at += 4
    for (let i = 0; i < writes.length; i++) {
      const size = segment.readUInt32LE(at)
      const start = at + WRITE_HEADER + segment.readUInt16LE(at + 4)
      const key = segment.toString('utf8', at + WRITE_HEADER, start)
      at = start + (size === DELETION ? 0 : size)
      writes[i] = { key, start: size === DELETION ? -1 : start, end: at }
    }
    visitor.commit(++revision, segment, writes)
  }
  return revision
}
