import { KeyIndex } from '../../base/key-index.ts'
import {
  type Change,
  type ChangeBatch,
  CompactedError,
  type Entry,
  FutureRevisionError,
  type Page,
  type Revision,
} from '../store.ts'
import { History } from './history.ts'

export interface Commit {
  readonly revision: Revision
  readonly changes: readonly Change[]
}

/** The empty store is at this revision. */
export const FIRST_REVISION = 1

/** What readers see: the current entries, their keys in order, and the history back to the last compaction. */
export class State {
  readonly #current = new Map<string, Entry>()
  readonly #keys = new KeyIndex()
  readonly #history: History
  #revision: Revision
  #compacted: Revision
  /** Bytes of all current keys and values. */
  liveBytes = 0

  constructor(revision: Revision = FIRST_REVISION, compacted: Revision = 0) {
    this.#revision = revision
    this.#compacted = compacted
    this.#history = new History(revision)
  }

  get revision(): Revision {
    return this.#revision
  }

  /** Reads and watches at or after this revision work. */
  get compacted(): Revision {
    return this.#compacted
  }

  get historyBytes(): number {
    return this.#history.bytes
  }

  latest(key: string): Entry | undefined {
    return this.#current.get(key)
  }

  get(key: string, at?: Revision): Entry | undefined {
    if (at === undefined) return this.#current.get(key)
    this.#check(at)
    return this.#entryAt(key, at)
  }

  list(prefix: string, page: { after?: string; limit?: number; at?: Revision } = {}): Page {
    const { after, at } = page
    const limit = page.limit || Number.POSITIVE_INFINITY
    if (at !== undefined) this.#check(at)
    if (at !== undefined && at < this.#revision) return this.listAt(prefix, after, limit, at)
    const entries: Entry[] = []
    this.#keys.visit(prefix, after, (key) => {
      entries.push(this.#current.get(key)!)
      return entries.length < limit
    })
    const remaining = entries.length < limit ? 0 : this.#keys.count(prefix, entries.at(-1)!.key)
    return { entries, revision: this.#revision, remaining }
  }

  /** A page of an older state: the live keys as they were then, merged with the keys deleted since. */
  listAt(prefix: string, after: string | undefined, limit: number, at: Revision): Page {
    const isBefore = (a: string, b: string) => this.#keys.isBefore(a, b)
    const now = this.#keys.count(prefix, after)
    const { deleted, grown } = this.#history.since(at, prefix, after, isBefore)
    const gone = deleted.filter((key) => !this.#current.has(key)).sort((a, b) => (isBefore(a, b) ? -1 : 1))
    const entries: Entry[] = []
    let next = 0
    const take = (key: string) => {
      const entry = this.#entryAt(key, at)
      if (entry) entries.push(entry)
      return entries.length < limit
    }
    this.#keys.visit(prefix, after, (key) => {
      while (next < gone.length && isBefore(gone[next]!, key)) if (!take(gone[next++]!)) return false
      return take(key)
    })
    while (next < gone.length && entries.length < limit) take(gone[next++]!)
    return { entries, revision: at, remaining: now - grown - entries.length }
  }

  /** All current entries, in no order. */
  entries(): Iterable<Entry> {
    return this.#current.values()
  }

  /** An entry that stands without its history: from a snapshot. */
  load(entry: Entry): void {
    this.#current.set(entry.key, entry)
    this.#keys.add(entry.key)
    this.liveBytes += entry.key.length + entry.value.length
  }

  apply(commit: Commit): void {
    this.#revision = commit.revision
    this.#history.append(commit)
    for (const { key, entry, previous } of commit.changes) {
      if (previous) this.liveBytes -= key.length + previous.value.length
      if (entry) {
        this.#current.set(key, entry)
        this.liveBytes += key.length + entry.value.length
        if (!previous) this.#keys.add(key)
      } else {
        this.#current.delete(key)
        this.#keys.delete(key)
      }
    }
  }

  /** Changes of the prefix after `cursor`, whole commits until there are `most`; how far that reaches is `revision`. */
  changesAfter(cursor: Revision, prefix: string, most: number): ChangeBatch {
    if (cursor < this.#compacted) throw new CompactedError(cursor, this.#compacted)
    return this.#history.changesAfter(cursor, prefix, most)
  }

  /** Closes reads and watches before `upTo`, and frees the history up to there, or only up to `keep` if that is less. */
  compact(upTo: Revision, keep: Revision = upTo): void {
    if (upTo > this.#compacted) this.#compacted = upTo
    this.#history.forget(Math.min(this.#compacted, keep))
  }

  /** The revision up to which history must be forgotten for at most `bytes` to stay. */
  revisionToKeep(bytes: number): Revision {
    return this.#history.revisionToKeep(bytes)
  }

  #check(at: Revision): void {
    if (at > this.#revision) throw new FutureRevisionError(at, this.#revision)
    const oldest = Math.max(this.#compacted, FIRST_REVISION)
    if (at < oldest) throw new CompactedError(at, oldest)
  }

  #entryAt(key: string, at: Revision): Entry | undefined {
    const current = this.#current.get(key)
    if (current && current.revision <= at) return current
    return this.#history.entryAt(key, at)
  }
}
