import {
  type Change,
  type Condition,
  ConflictError,
  type Entry,
  type Revision,
  UnavailableError,
  type Write,
} from '../store.ts'
import type { LogRecord } from './frame.ts'
import type { Log } from './log.ts'
import { checkedKey, stampedValue } from './stamped-value.ts'
import type { Commit, State } from './state.ts'

/** More than this goes into the next batch, so that one sync never holds up many commits for long. */
const BATCH_BYTES = 4 << 20
/** In memory so many commits land before others get a turn. */
const LANDED_PER_TURN = 64

interface Pending {
  readonly record: LogRecord
  readonly bytes: number
  readonly resolve: (revision: Revision) => void
  readonly reject: (error: Error) => void
}

interface Landing {
  readonly revision: Revision
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * Takes commits in order and makes them durable in batches: one write is in flight, what arrives meanwhile is the next.
 * Conditions are checked against the newest state including what is in flight; readers see only what is durable.
 */
export class GroupCommit {
  readonly #state: State
  readonly #log: Log | undefined
  readonly #onLanded: (commits: readonly Commit[]) => void
  readonly #onCompaction: (upTo: Revision) => void
  /** The newest change of each key that is not durable yet. */
  readonly #inFlight = new Map<string, Change>()
  #sequenced: Revision
  #queue: Pending[] = []
  #landings: Landing[] = []
  #landedInTurn = 0
  #flushing: Promise<void> | undefined
  /** Why there are no more writes, ever. */
  #stopped: string | undefined

  constructor(
    state: State,
    log: Log | undefined,
    on: { landed: (commits: readonly Commit[]) => void; compaction: (upTo: Revision) => void },
  ) {
    this.#state = state
    this.#log = log
    this.#onLanded = on.landed
    this.#onCompaction = on.compaction
    this.#sequenced = state.revision
  }

  commit(conditions: readonly Condition[], writes: readonly Write[]): Promise<Revision> {
    if (this.#stopped !== undefined) return Promise.reject(new UnavailableError(this.#stopped))
    for (const { key, revision } of conditions) {
      if ((this.#latest(key)?.revision ?? 0) !== revision) return this.#conflict(key)
    }
    let changes: Change[]
    try {
      changes = this.#changesOf(writes, this.#sequenced + 1)
    } catch (error) {
      return Promise.reject(error)
    }
    if (changes.length === 0) return this.#landed(this.#sequenced)
    const revision = ++this.#sequenced
    for (const change of changes) this.#inFlight.set(change.key, change)
    return this.#enqueue({ commit: { revision, changes } }, bytesOf(changes))
  }

  compact(upTo: Revision): Promise<Revision> {
    if (this.#stopped !== undefined) return Promise.reject(new UnavailableError(this.#stopped))
    return this.#enqueue({ compactTo: upTo }, 0)
  }

  /** Takes no more writes and waits for those under way. */
  async close(): Promise<void> {
    this.#stopped ??= 'the store is closed'
    await this.#flushing
  }

  #latest(key: string): Entry | undefined {
    const change = this.#inFlight.get(key)
    return change ? change.entry : this.#state.latest(key)
  }

  /** Told only when a fresh read shows the write that is in the way. */
  #conflict(key: string): Promise<Revision> {
    const conflict = new ConflictError(key)
    const change = this.#inFlight.get(key)
    if (!change) return Promise.reject(conflict)
    return this.#landed(change.revision).then(() => Promise.reject(conflict))
  }

  /** Kept as long as the history reaches back: an array that grew by pushes would hold room for sixteen more. */
  #changesOf(writes: readonly Write[], revision: Revision): Change[] {
    const changes = writes.map((write) => this.#changeOf(write, revision))
    if (writes.length > 1) refuseRepeatedKeys(writes)
    return changes.includes(undefined) ? changes.filter((change) => change !== undefined) : (changes as Change[])
  }

  #changeOf(write: Write, revision: Revision): Change | undefined {
    const key = checkedKey(write.key)
    const previous = this.#latest(key)
    if (!write.value) return previous && { key, revision, entry: undefined, previous }
    const value = stampedValue(write.value, write.revisionSlot, revision)
    return { key, revision, entry: { key, value, revision, created: previous?.created ?? revision }, previous }
  }

  #landed(revision: Revision): Promise<Revision> {
    if (revision <= this.#state.revision) return Promise.resolve(revision)
    return new Promise((resolve, reject) => {
      this.#landings.push({ revision, resolve: () => resolve(revision), reject })
    })
  }

  #enqueue(record: LogRecord, bytes: number): Promise<Revision> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, bytes, resolve, reject })
      this.#flushing ??= this.#flush()
    })
  }

  async #flush(): Promise<void> {
    // Everything that becomes ready in this turn of the event loop shares the first batch.
    await (this.#log ? nextTurn() : undefined)
    while (this.#queue.length > 0) {
      if (!this.#log && this.#isLong()) await nextTurn()
      const batch = this.#takeBatch()
      try {
        await this.#log?.append(
          batch.map((pending) => pending.record),
          this.#state.revision,
        )
      } catch (error) {
        await this.#fail(batch, error as NodeJS.ErrnoException)
        continue
      }
      this.#land(batch)
    }
    this.#flushing = undefined
  }

  /**
   * Without a disk to wait for, those who write whenever they are told of a write would never let anybody else have a
   * turn of the event loop: no timer, no socket.
   */
  #isLong(): boolean {
    if (this.#landedInTurn === 0)
      setImmediate(() => {
        this.#landedInTurn = 0
      }).unref()
    this.#landedInTurn += this.#queue.length
    return this.#landedInTurn > LANDED_PER_TURN
  }

  #takeBatch(): Pending[] {
    let bytes = 0
    let count = 0
    while (count < this.#queue.length && bytes < BATCH_BYTES) bytes += this.#queue[count++]!.bytes
    if (count === this.#queue.length) {
      const batch = this.#queue
      this.#queue = []
      return batch
    }
    return this.#queue.splice(0, count)
  }

  /** Visible first, then watchers, then the writers: whoever learns of a commit can read it. */
  #land(batch: readonly Pending[]): void {
    const commits: Commit[] = []
    for (const { record } of batch) {
      if ('commit' in record) {
        this.#state.apply(record.commit)
        this.#settle(record.commit)
        commits.push(record.commit)
      } else {
        this.#onCompaction(record.compactTo)
      }
    }
    this.#onLanded(commits)
    for (const { record, resolve } of batch) resolve('commit' in record ? record.commit.revision : record.compactTo)
    if (this.#landings.length > 0) this.#releaseLandings()
  }

  #settle(commit: Commit): void {
    for (const change of commit.changes) {
      if (this.#inFlight.get(change.key) === change) this.#inFlight.delete(change.key)
    }
  }

  #releaseLandings(): void {
    const waiting = this.#landings
    this.#landings = []
    for (const landing of waiting) {
      if (landing.revision <= this.#state.revision) landing.resolve()
      else this.#landings.push(landing)
    }
  }

  /** Nothing of the batch or of what was built upon it is there; commits that come from now on start afresh. */
  async #fail(batch: readonly Pending[], error: NodeJS.ErrnoException): Promise<void> {
    const failed: { reject: (error: Error) => void }[] = [...batch, ...this.#queue, ...this.#landings]
    this.#queue = []
    this.#landings = []
    this.#inFlight.clear()
    this.#sequenced = this.#state.revision
    const reason = await this.#cutBack(error)
    for (const { reject } of failed) reject(new UnavailableError(reason, { cause: error }))
    if (this.#stopped === undefined) return
    for (const { reject } of this.#queue) reject(new UnavailableError(this.#stopped, { cause: error }))
    this.#queue = []
  }

  async #cutBack(error: NodeJS.ErrnoException): Promise<string> {
    if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
      try {
        await this.#log?.cutBack()
        return `no space left on device, nothing was written (${error.message})`
      } catch {
        // What is behind the last good frame is not known any more: only recovery may touch it.
      }
    }
    this.#stopped = `the store takes no more writes until it is opened again, because one failed: ${error.message}`
    return this.#stopped
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function refuseRepeatedKeys(writes: readonly Write[]): void {
  const keys = new Set<string>()
  for (const { key } of writes) {
    if (keys.has(key)) throw new RangeError(`${key} is written twice in one commit`)
    keys.add(key)
  }
}

function bytesOf(changes: readonly Change[]): number {
  let bytes = 0
  for (const { key, entry } of changes) bytes += key.length + (entry?.value.length ?? 0)
  return bytes
}
