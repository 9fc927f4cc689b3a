import { join } from 'node:path'
import type { StoreFiles } from '../files.ts'
import type { Entry, Revision } from '../store.ts'
import type { Log } from './log.ts'
import { writeSnapshot } from './snapshot-format.ts'
import { snapshotName } from './snapshots.ts'
import type { State } from './state.ts'

/** Large, because each page looks at all changes since the revision. */
const PAGE = 5000

/**
 * Replaces the oldest part of the log by a snapshot of the compacted revision. Done only when that frees as much as the
 * snapshot costs, so that the work stays proportional to what is written.
 */
export class Checkpoint {
  readonly #files: StoreFiles
  readonly #directory: string
  readonly #state: State
  readonly #log: Log
  readonly #minimumBytes: number
  #snapshotBytes: number
  #running: Promise<void> | undefined
  #closed = false
  /** History from here on must stay while the snapshot is being written. */
  pinned: Revision = Number.POSITIVE_INFINITY

  constructor(
    disk: { files: StoreFiles; directory: string; minimumBytes: number },
    state: State,
    log: Log,
    snapshotBytes: number,
  ) {
    this.#files = disk.files
    this.#directory = disk.directory
    this.#minimumBytes = disk.minimumBytes
    this.#state = state
    this.#log = log
    this.#snapshotBytes = snapshotBytes
  }

  /** Starts one in the background if it pays. */
  consider(): void {
    if (this.#running || this.#closed) return
    const freed = this.#log.bytesUpTo(this.#state.compacted)
    if (freed === 0 || freed < Math.max(this.#minimumBytes, this.#snapshotBytes)) return
    // On a full disk nothing is lost by not making a snapshot; the next compaction tries again.
    this.#running = this.#run(this.#state.compacted).catch(() => {})
  }

  /** Waits for a running one, which stops soon. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #run(revision: Revision): Promise<void> {
    this.pinned = revision
    try {
      const path = join(this.#directory, snapshotName(revision))
      this.#snapshotBytes = await writeSnapshot(this.#files, path, revision, this.#pages(revision))
      await this.#removeOlder(revision)
      await this.#log.removeUpTo(revision)
    } finally {
      this.pinned = Number.POSITIVE_INFINITY
      this.#running = undefined
      this.#state.compact(this.#state.compacted)
    }
  }

  async *#pages(revision: Revision): AsyncGenerator<readonly Entry[]> {
    let after: string | undefined
    for (;;) {
      if (this.#closed) throw new Error('the store is closing')
      const { entries, remaining } = this.#state.listAt('', after, PAGE, revision)
      yield entries
      if (remaining === 0) return
      after = entries.at(-1)?.key
    }
  }

  async #removeOlder(revision: Revision): Promise<void> {
    for (const name of await this.#files.list(this.#directory)) {
      if (name.endsWith('.snapshot') && name < snapshotName(revision)) {
        await this.#files.remove(join(this.#directory, name))
      }
    }
    await this.#files.syncDirectory(this.#directory)
  }
}
