/** Only what Kubernetes needs of etcd: revisioned keys and bytes. The store knows no kinds. */

/** One growing integer for the whole store; every commit takes the next one. The empty store is at 1. */
export type Revision = number

export interface Entry {
  readonly key: string
  /** Never changed after it was handed out: store, caches and responses share these bytes. */
  readonly value: Buffer
  /** The commit that wrote this value. */
  readonly revision: Revision
  /** The commit that created the key; a key deleted and written again starts anew. */
  readonly created: Revision
}

export interface Page {
  readonly entries: Entry[]
  /** The revision this page shows the store at. */
  readonly revision: Revision
  /** How many keys of the prefix follow the last entry of this page. */
  readonly remaining: number
}

/** Holds if the key's last write was at exactly this revision; 0 means the key must not exist. */
export interface Condition {
  readonly key: string
  readonly revision: Revision
}

/** Puts `value`, or deletes the key when there is none. Deleting a missing key is no error and no change. */
export interface Write {
  readonly key: string
  readonly value?: Buffer
  /**
   * Where in `value` the decimal digits of this commit's revision are to be inserted. What is read back carries
   * them, so an object is serialised once although its revision is known only at the commit.
   */
  readonly revisionSlot?: number
}

export interface Change {
  readonly key: string
  readonly revision: Revision
  /** The new entry, or undefined for a deletion. */
  readonly entry: Entry | undefined
  /** The entry before this change, undefined for a creation. */
  readonly previous: Entry | undefined
}

/**
 * Guarantees, checked by `store.contract.ts` for every implementation:
 * - A commit that resolved is durable and visible to every later read and watch of any client.
 * - Commits are linearizable; all writes of one commit share one revision and become visible together.
 * - In one process, watchers are handed a change no later than the commit that made it resolves.
 * - After a `Conflict` a fresh read shows the state that caused it.
 */
export interface Store extends AsyncDisposable {
  /** The newest revision visible to reads. With several writers (etcd) this asks the quorum. */
  revision(): Promise<Revision>
  /** `at` reads an older state; throws `CompactedError` if it is gone, `FutureRevisionError` if not there yet. */
  get(key: string, at?: Revision): Promise<Entry | undefined>
  /** Entries whose key starts with `prefix`, in byte order of their keys, strictly after the key `after`. */
  list(prefix: string, page?: { after?: string; limit?: number; at?: Revision }): Promise<Page>
  /** All or nothing; throws `ConflictError` naming the first condition that fails. */
  commit(conditions: readonly Condition[], writes: readonly Write[]): Promise<Revision>
  /**
   * Every change of the prefix after revision `after`, in order, with no gap and no duplicate. The changes of one
   * commit come in one batch. An empty batch tells only that all up to `revision` has been delivered.
   * Throws `CompactedError` if `after` is older than the kept history. Ends when the signal aborts.
   */
  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch>
  /** Asks every watch of this store to report its progress with an empty batch, soon. */
  requestProgress(): void
  /** Forgets values overwritten or deleted at or before `upTo`. The current state always stays. */
  compact(upTo: Revision): Promise<void>
}

export interface ChangeBatch {
  readonly revision: Revision
  readonly changes: readonly Change[]
}

export class ConflictError extends Error {
  override readonly name = 'ConflictError'
  readonly key: string
  constructor(key: string) {
    super(`the condition on ${key} does not hold`)
    this.key = key
  }
}

export class CompactedError extends Error {
  override readonly name = 'CompactedError'
  /** The oldest revision that can still be read. */
  readonly oldest: Revision
  constructor(asked: Revision, oldest: Revision) {
    super(`revision ${asked} has been compacted; the oldest kept is ${oldest}`)
    this.oldest = oldest
  }
}

export class FutureRevisionError extends Error {
  override readonly name = 'FutureRevisionError'
  readonly current: Revision
  constructor(asked: Revision, current: Revision) {
    super(`revision ${asked} is in the future; the store is at ${current}`)
    this.current = current
  }
}

/**
 * The store cannot take writes (disk full, I/O error, no quorum); reads may go on. Nothing was acknowledged; after a
 * failed sync or a lost connection to etcd the write may turn up all the same.
 */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError'
}
