import type { Random } from '../../base/random.ts'
import type { StoreFiles } from '../files.ts'
import type { Revision } from '../store.ts'
import { encodeFrame, FRAME_HEADER, type LogRecord, recordBound } from './frame.ts'
import { createSegment, SEGMENT_HEADER, type SealedSegment, type Segment } from './segment.ts'

export interface LogOptions {
  readonly files: StoreFiles
  readonly directory: string
  readonly random: Random
  /** Size of the first segment; each next one is twice the one before, up to `maxSegmentBytes`. */
  readonly firstSegmentBytes: number
  readonly maxSegmentBytes: number
}

const SMALLEST_SCRATCH = 64 << 10
/** A burst of huge commits must not keep its buffer for good. */
const LARGEST_IDLE_SCRATCH = 4 << 20

/** The append-only log: sealed segments, the active one, and the next one made ready before it is needed. */
export class Log {
  readonly #options: LogOptions
  readonly #sealed: SealedSegment[]
  #active: Segment
  #next: Promise<Segment> | undefined
  #scratch: Buffer = Buffer.allocUnsafeSlow(SMALLEST_SCRATCH)

  constructor(options: LogOptions, active: Segment, sealed: SealedSegment[] = []) {
    this.#options = options
    this.#active = active
    this.#sealed = sealed
  }

  /** Makes the records durable: one write, one sync. On an error nothing of them is acknowledged; see `cutBack`. */
  async append(records: readonly LogRecord[], before: Revision): Promise<void> {
    let bound = FRAME_HEADER + 8
    for (const record of records) bound += recordBound(record)
    if (this.#active.end + bound > this.#active.size) await this.#rotate(bound)
    const segment = this.#active
    const scratch = this.#scratchFor(bound)
    const length = encodeFrame(scratch, records, before, { salt: segment.salt, offset: segment.end })
    await segment.file.write(scratch.subarray(0, length), segment.end)
    segment.end += length
    segment.lastRevision = before + commitsIn(records)
    if (!this.#next && segment.end > segment.size / 2) this.#prepareNext(0)
  }

  /** Removes what a failed append may have left behind the last good frame. */
  async cutBack(): Promise<void> {
    await this.#active.file.truncate(this.#active.end)
    await this.#active.file.sync()
  }

  /** Bytes in segments that hold nothing newer than the revision. */
  bytesUpTo(revision: Revision): number {
    let bytes = 0
    for (const segment of this.#sealed) if (segment.lastRevision <= revision) bytes += segment.bytes
    return bytes
  }

  /** Removes the segments that hold nothing newer than the revision, oldest first so that no gap can ever appear. */
  async removeUpTo(revision: Revision): Promise<void> {
    let removed = false
    while (this.#sealed[0] && this.#sealed[0].lastRevision <= revision) {
      await this.#options.files.remove(this.#sealed[0].path)
      this.#sealed.shift()
      removed = true
    }
    if (removed) await this.#options.files.syncDirectory(this.#options.directory)
  }

  async close(): Promise<void> {
    const next = await this.#next?.catch(() => undefined)
    await next?.file.close()
    await this.#active.file.close()
  }

  async #rotate(bound: number): Promise<void> {
    if (!this.#next) this.#prepareNext(bound)
    const next = await this.#next!
    this.#next = undefined
    const { path, end, lastRevision, file } = this.#active
    this.#sealed.push({ path, bytes: end, lastRevision })
    this.#active = next
    next.lastRevision = lastRevision
    await file.close()
    if (next.end + bound > next.size) await this.#rotate(bound)
  }

  #prepareNext(bound: number): void {
    const { files, directory, random, maxSegmentBytes } = this.#options
    const size = Math.max(Math.min(this.#active.size * 2, maxSegmentBytes), SEGMENT_HEADER + bound)
    const header = { number: this.#active.number + 1, salt: Math.floor(random.next() * 0xffffffff) }
    const next = createSegment(files, directory, header, size)
    this.#next = next
    // A failure (a full disk) is met by the commit that needs the segment; the one after it tries again.
    next.catch(() => {
      if (this.#next === next) this.#next = undefined
    })
  }

  #scratchFor(bound: number): Buffer {
    const oversized = this.#scratch.length > LARGEST_IDLE_SCRATCH && bound <= LARGEST_IDLE_SCRATCH
    if (bound > this.#scratch.length || oversized) {
      this.#scratch = Buffer.allocUnsafeSlow(Math.max(SMALLEST_SCRATCH, 2 ** Math.ceil(Math.log2(bound))))
    }
    return this.#scratch
  }
}

function commitsIn(records: readonly LogRecord[]): number {
  let commits = 0
  for (const record of records) if ('commit' in record) commits++
  return commits
}
