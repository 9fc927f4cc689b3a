import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { StoreFile, StoreFiles } from '../files.ts'
import type { Revision } from '../store.ts'

/** magic, format version u32, number u32, salt u32, crc32 u32 of the twenty bytes before, zeros. */
const MAGIC = 'SMPNLOG\0'
const VERSION = 1
export const SEGMENT_HEADER = 64
const CHECKED = 20

/** Written at once while zeros are laid out; synced as often, so that commits beside it wait little. */
const ZERO_STEP = 1 << 20
const zeros = Buffer.alloc(ZERO_STEP)

export interface SegmentHeader {
  readonly number: number
  /** Random for each segment: bytes of one segment are never taken for a frame of another. */
  readonly salt: number
}

/** A file of the log; sealed ones are known only by this. */
export interface SealedSegment {
  readonly path: string
  readonly bytes: number
  readonly lastRevision: Revision
}

/** The segment that is written to. */
export interface Segment extends SegmentHeader {
  readonly path: string
  readonly file: StoreFile
  /** Up to here the file is laid out with zeros, so that a write changes no metadata. */
  readonly size: number
  /** Where the next frame goes. */
  end: number
  lastRevision: Revision
}

export const segmentName = (number: number): string => `${String(number).padStart(10, '0')}.log`

export function segmentNumber(name: string): number | undefined {
  return /^\d{10}\.log$/.test(name) ? Number.parseInt(name, 10) : undefined
}

/** Makes an empty segment; it appears under its name only when it is complete and durable. */
export async function createSegment(
  files: StoreFiles,
  directory: string,
  header: SegmentHeader,
  size: number,
): Promise<Segment> {
  const path = join(directory, segmentName(header.number))
  const temporary = `${path}.tmp`
  const file = await files.open(temporary, 'create')
  try {
    await file.write(encodeHeader(header), 0)
    await layOutZeros(file, SEGMENT_HEADER, size)
  } catch (error) {
    await file.close()
    await files.remove(temporary).catch(() => {})
    throw error
  }
  await file.close()
  await files.rename(temporary, path)
  await files.syncDirectory(directory)
  return openSegment(files, path, header, size, SEGMENT_HEADER, 0)
}

export async function openSegment(
  files: StoreFiles,
  path: string,
  header: SegmentHeader,
  size: number,
  end: number,
  lastRevision: Revision,
): Promise<Segment> {
  return { ...header, path, file: await files.open(path, 'durable'), size, end, lastRevision }
}

/** Fills the file with zeros from `start` to `size` and makes them durable. */
export async function layOutZeros(file: StoreFile, start: number, size: number): Promise<void> {
  for (let at = start; at < size; at += ZERO_STEP) {
    await file.write(zeros.subarray(0, Math.min(ZERO_STEP, size - at)), at)
    await file.sync()
  }
  await file.sync()
}

function encodeHeader(header: SegmentHeader): Buffer {
  const buffer = Buffer.alloc(SEGMENT_HEADER)
  buffer.write(MAGIC, 0, 'latin1')
  buffer.writeUInt32LE(VERSION, 8)
  buffer.writeUInt32LE(header.number, 12)
  buffer.writeUInt32LE(header.salt, 16)
  buffer.writeUInt32LE(crc32(buffer.subarray(0, CHECKED)), CHECKED)
  return buffer
}

/** The header of a segment, or what is wrong with it. */
export function decodeHeader(segment: Buffer): SegmentHeader | string {
  if (segment.length < SEGMENT_HEADER) return 'the file is shorter than its header'
  if (segment.toString('latin1', 0, MAGIC.length) !== MAGIC) return 'it does not start as a log segment does'
  if (crc32(segment.subarray(0, CHECKED)) !== segment.readUInt32LE(CHECKED)) return "the header's checksum is wrong"
  const version = segment.readUInt32LE(8)
  if (version !== VERSION) return `it has format version ${version}, this program knows ${VERSION}`
  return { number: segment.readUInt32LE(12), salt: segment.readUInt32LE(16) }
}
