import { type Clock, systemClock } from '../base/clock.ts'
import { type Random, systemRandom } from '../base/random.ts'
import { compactRegularly } from './compact-regularly.ts'
import { Checkpoint } from './embedded/checkpoint.ts'
import { diskFiles } from './embedded/disk-files.ts'
import { GroupCommit } from './embedded/group-commit.ts'
import { Log } from './embedded/log.ts'
import { recover } from './embedded/recovery.ts'
import { State } from './embedded/state.ts'
import { Watchers } from './embedded/watchers.ts'
import type { StoreFiles } from './files.ts'
import {
  type ChangeBatch,
  type Condition,
  type Entry,
  FutureRevisionError,
  type Page,
  type Revision,
  type Store,
  type Write,
} from './store.ts'

/** How much of the past is kept for reads and watches at older revisions. */
export interface HistoryOptions {
  /** Kept for one to two of these. */
  readonly interval?: number
  /** More than this held by older versions is forgotten at once; by default 64 MB, or half of what is stored if more. */
  readonly bytes?: number
}

export interface MemoryStoreOptions {
  readonly clock?: Clock
  /** `false` keeps everything until `compact` is called. */
  readonly history?: HistoryOptions | false
}

export interface EmbeddedStoreOptions extends MemoryStoreOptions {
  /** Made if it does not exist; one process at a time. */
  readonly directory: string
  readonly random?: Random
  readonly files?: StoreFiles
  /** Size of the largest segments of the log; the first ones are smaller. */
  readonly segmentBytes?: number
  /** The log is not shortened for less than this. */
  readonly checkpointBytes?: number
}

const HISTORY_BYTES = 64 << 20
const FIRST_SEGMENT_BYTES = 1 << 20
const SEGMENT_BYTES = 32 << 20
const CHECKPOINT_BYTES = 32 << 20

/** Opens the store in a directory, alone; replays its log, or throws `CorruptStoreError`. */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { directory, random = systemRandom, files = diskFiles, segmentBytes = SEGMENT_BYTES } = options
  await files.makeDirectory(directory)
  const unlock = await files.lock(directory)
  try {
    const firstSegmentBytes = Math.min(FIRST_SEGMENT_BYTES, segmentBytes)
    const disk = { files, directory, random, firstSegmentBytes, maxSegmentBytes: segmentBytes }
    const { state, active, sealed, snapshotBytes } = await recover(disk)
    const log = new Log(disk, active, sealed)
    const minimumBytes = options.checkpointBytes ?? CHECKPOINT_BYTES
    const checkpoint = new Checkpoint({ files, directory, minimumBytes }, state, log, snapshotBytes)
    return new EmbeddedStore(state, options, { log, checkpoint, unlock })
  } catch (error) {
    await unlock()
    throw error
  }
}

/** The same store with no disk under it. */
export function openMemoryStore(options: MemoryStoreOptions = {}): EmbeddedStore {
  return new EmbeddedStore(new State(), options)
}

interface OnDisk {
  readonly log: Log
  readonly checkpoint: Checkpoint
  readonly unlock: () => Promise<void>
}

export class EmbeddedStore implements Store {
  readonly #state: State
  readonly #watchers: Watchers
  readonly #commits: GroupCommit
  readonly #disk: OnDisk | undefined
  readonly #history: HistoryOptions | false
  readonly #compaction: Disposable | undefined
  #compacting = false
  #closing: Promise<void> | undefined

  constructor(state: State, options: MemoryStoreOptions, disk?: OnDisk) {
    this.#state = state
    this.#disk = disk
    this.#history = options.history ?? {}
    this.#watchers = new Watchers(state)
    this.#commits = new GroupCommit(state, disk?.log, {
      landed: (commits) => {
        this.#watchers.notify(commits)
        this.#boundHistory()
      },
      compaction: (upTo) => {
        state.compact(upTo, disk?.checkpoint.pinned)
        disk?.checkpoint.consider()
      },
    })
    const history = this.#history
    if (history) this.#compaction = compactRegularly(this, options.clock ?? systemClock, history.interval)
  }

  async revision(): Promise<Revision> {
    return this.#state.revision
  }

  async get(key: string, at?: Revision): Promise<Entry | undefined> {
    return this.#state.get(key, at)
  }

  async list(prefix: string, page?: { after?: string; limit?: number; at?: Revision }): Promise<Page> {
    return this.#state.list(prefix, page)
  }

  commit(conditions: readonly Condition[], writes: readonly Write[]): Promise<Revision> {
    return this.#commits.commit(conditions, writes)
  }

  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch> {
    return this.#watchers.watch(prefix, after, signal)
  }

  requestProgress(): void {
    this.#watchers.requestProgress()
  }

  async compact(upTo: Revision): Promise<void> {
    if (upTo > this.#state.revision) throw new FutureRevisionError(upTo, this.#state.revision)
    if (upTo > this.#state.compacted) await this.#commits.compact(upTo)
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#compaction?.[Symbol.dispose]()
    this.#watchers.close()
    await this.#commits.close()
    if (!this.#disk) return
    await this.#disk.checkpoint.close()
    await this.#disk.log.close()
    await this.#disk.unlock()
  }

  #boundHistory(): void {
    if (this.#history === false || this.#compacting) return
    const most = this.#history.bytes ?? Math.max(HISTORY_BYTES, this.#state.liveBytes / 2)
    if (this.#state.historyBytes <= most) return
    this.#compacting = true
    // A quarter at once, so that the cost is spread over many commits.
    this.compact(this.#state.revisionToKeep(most * 0.75))
      .catch(() => {})
      .finally(() => {
        this.#compacting = false
      })
  }
}
