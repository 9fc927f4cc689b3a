import { basename, join } from 'node:path'
import type { Random } from '../../base/random.ts'
import { CorruptStoreError } from '../corruption.ts'
import { readWhole, type StoreFiles } from '../files.ts'
import type { Change, Revision } from '../store.ts'
import { ALIGNMENT, alignedLength, type FrameVisitor, type FrameWrite, readFrame, validFrame } from './frame.ts'
import {
  createSegment,
  decodeHeader,
  layOutZeros,
  openSegment,
  SEGMENT_HEADER,
  type SealedSegment,
  type Segment,
  type SegmentHeader,
  segmentNumber,
} from './segment.ts'
import { loadNewestSnapshot } from './snapshots.ts'
import type { State } from './state.ts'
import { releaseSparseBuffers } from './value-slabs.ts'

export interface Recovered {
  readonly state: State
  readonly active: Segment
  readonly sealed: SealedSegment[]
  /** Bytes of the snapshot the log starts from. */
  readonly snapshotBytes: number
}

export interface RecoveryOptions {
  readonly files: StoreFiles
  readonly directory: string
  readonly random: Random
  readonly firstSegmentBytes: number
}

/** Segments and snapshots a crash left half made. Files of the lock belong to whoever waits for it. */
const UNFINISHED = /\.(log|snapshot)\.tmp$/

/** Reads the newest snapshot and the log after it; cuts a torn tail; refuses anything a crash cannot explain. */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const { files, directory } = options
  const names = await files.list(directory)
  for (const name of names) if (UNFINISHED.test(name)) await files.remove(join(directory, name))
  const { state, bytes } = await loadNewestSnapshot(files, directory, names)
  const replay = new Replay(state)
  const scanned = await scanSegments(options, names, replay)
  replay.checkEnd(scanned.at(-1))
  releaseSparseBuffers(state.entries())
  const active = await openTail(options, scanned)
  active.lastRevision = state.revision
  return { state, active, sealed: scanned.slice(0, -1).map(sealedFrom), snapshotBytes: bytes }
}

interface Scanned {
  readonly path: string
  readonly number: number
  readonly salt: number
  readonly size: number
  /** Behind the last good frame. */
  readonly end: number
  /** Something that is no frame follows the end. */
  readonly torn: boolean
  readonly lastRevision: Revision
}

const sealedFrom = ({ path, end, lastRevision }: Scanned): SealedSegment => ({ path, bytes: end, lastRevision })

/** Replays the segments in order; what comes back ends with the one to write to, if there is any. */
async function scanSegments(options: RecoveryOptions, names: readonly string[], replay: Replay): Promise<Scanned[]> {
  const { files, directory } = options
  const numbered = names.filter((name) => segmentNumber(name) !== undefined).sort()
  const scanned: Scanned[] = []
  const paths = numbered.map((name) => join(directory, name))
  let reading = paths[0] === undefined ? undefined : readWhole(files, paths[0])
  for (const [i, path] of paths.entries()) {
    const content = await reading!
    // The next one is read while this one is replayed.
    reading = paths[i + 1] === undefined ? undefined : readWhole(files, paths[i + 1]!)
    reading?.catch(() => {})
    scanned.push(scanSegment(path, content, scanned.at(-1), replay))
  }
  // Segments made ready and never written to: the last of them, or the log would have two ends.
  while (scanned.length > 1 && isEmpty(scanned.at(-1)!)) await files.remove(scanned.pop()!.path)
  return scanned
}

const isEmpty = (segment: Scanned): boolean => segment.end === SEGMENT_HEADER && !segment.torn

function scanSegment(path: string, content: Buffer, previous: Scanned | undefined, replay: Replay): Scanned {
  const header = checkedHeader(path, content, previous)
  let end = SEGMENT_HEADER
  if (!isZero(content, end)) refuseIfTorn(previous)
  for (;;) {
    const frame = validFrame(content, { salt: header.salt, offset: end })
    if (!frame) break
    replay.checkContinuity(path, end, frame.before)
    replay.revision = readFrame(content, end, replay)
    end += alignedLength(frame.length)
  }
  const torn = !isZero(content, end)
  if (torn) refuseIfFrameFollows(path, content, header.salt, end)
  return {
    path,
    ...header,
    size: content.length,
    end: Math.min(end, content.length),
    torn,
    lastRevision: replay.revision,
  }
}

function checkedHeader(path: string, content: Buffer, previous: Scanned | undefined): SegmentHeader {
  const header = decodeHeader(content)
  if (typeof header === 'string') throw new CorruptStoreError(path, 0, header)
  if (header.number !== segmentNumber(basename(path))) {
    throw new CorruptStoreError(path, 0, `it is segment ${header.number} by its header`)
  }
  if (previous && header.number !== previous.number + 1) {
    throw new CorruptStoreError(path, 0, `the segment between ${previous.path} and it is missing`)
  }
  return header
}

/** A segment is written to only when all of the one before it is durable. */
function refuseIfTorn(previous: Scanned | undefined): void {
  if (!previous?.torn) return
  throw new CorruptStoreError(previous.path, previous.end, 'a frame is unreadable, and a later segment has data')
}

/** Only one frame is ever in flight, so a crash leaves no good frame behind a bad one. */
function refuseIfFrameFollows(path: string, content: Buffer, salt: number, bad: number): void {
  for (let offset = bad + ALIGNMENT; offset < content.length; offset += ALIGNMENT) {
    if (validFrame(content, { salt, offset })) {
      throw new CorruptStoreError(path, bad, `a frame is unreadable, but a good one follows at offset ${offset}`)
    }
  }
}

const ZEROS = Buffer.alloc(1 << 16)

function isZero(content: Buffer, from: number): boolean {
  for (let at = from; at < content.length; at += ZEROS.length) {
    const end = Math.min(at + ZEROS.length, content.length)
    if (content.compare(ZEROS, 0, end - at, at, end) !== 0) return false
  }
  return true
}

async function openTail(options: RecoveryOptions, scanned: readonly Scanned[]): Promise<Segment> {
  const { files, directory, random, firstSegmentBytes } = options
  const tail = scanned.at(-1)
  if (!tail) {
    const header = { number: 1, salt: Math.floor(random.next() * 0xffffffff) }
    return createSegment(files, directory, header, firstSegmentBytes)
  }
  if (tail.torn) await cutTail(files, tail)
  return openSegment(files, tail.path, tail, tail.size, tail.end, tail.lastRevision)
}

async function cutTail(files: StoreFiles, tail: Scanned): Promise<void> {
  const file = await files.open(tail.path, 'durable')
  try {
    // Shorter first, then zeros again: at no moment can what was cut off be read as part of the log.
    await file.truncate(tail.end)
    await file.sync()
    await layOutZeros(file, tail.end, tail.size)
  } finally {
    await file.close()
  }
}

/** Applies what the log says to the state, skipping what the snapshot already holds. */
class Replay implements FrameVisitor {
  readonly #state: State
  /** Where the log is; 0 before its first frame. */
  revision: Revision = 0

  constructor(state: State) {
    this.#state = state
  }

  checkContinuity(path: string, offset: number, before: Revision): void {
    if (this.revision !== 0 && before !== this.revision) {
      throw new CorruptStoreError(path, offset, `revision ${before} follows where ${this.revision} should`)
    }
    if (before > this.#state.revision) {
      throw new CorruptStoreError(path, offset, `revisions ${this.#state.revision + 1} to ${before} are missing`)
    }
  }

  checkEnd(tail: Scanned | undefined): void {
    if (!tail || this.revision === 0 || this.revision >= this.#state.revision) return
    const what = `the log ends at revision ${this.revision}, before the snapshot of revision ${this.#state.revision}`
    throw new CorruptStoreError(tail.path, tail.end, what)
  }

  commit(revision: Revision, segment: Buffer, writes: readonly FrameWrite[]): void {
    if (revision <= this.#state.revision) return
    const changes = writes.map(({ key, start, end }): Change => {
      const previous = this.#state.latest(key)
      if (start < 0) return { key, revision, entry: undefined, previous }
      const value = segment.subarray(start, end)
      return { key, revision, entry: { key, value, revision, created: previous?.created ?? revision }, previous }
    })
    this.#state.apply({ revision, changes })
  }

  compaction(upTo: Revision): void {
    this.#state.compact(upTo)
  }
}
