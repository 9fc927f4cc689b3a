import type { Change, ChangeBatch, Entry, Revision } from '../store.ts'
import type { Commit } from './state.ts'

/** What a kept older version costs beside its bytes: the change, its entry and their places. */
const OVERHEAD = 250

/** The commits since the last compaction, one per revision, and for each key the changes that replaced something. */
export class History {
  #commits: Commit[] = []
  /** The revision before the first kept commit. */
  #base: Revision
  readonly #replacing = new Map<string, Change[]>()
  /** Memory held by versions that are no longer current. */
  bytes = 0

  constructor(base: Revision) {
    this.#base = base
  }

  append(commit: Commit): void {
    this.#commits.push(commit)
    for (const change of commit.changes) {
      if (!change.previous) continue
      const changes = this.#replacing.get(change.key)
      if (changes) changes.push(change)
      else this.#replacing.set(change.key, [change])
      this.bytes += change.previous.value.length + OVERHEAD
    }
  }

  /** The version of a key at a revision, for a key whose current version is newer or gone. */
  entryAt(key: string, at: Revision): Entry | undefined {
    const changes = this.#replacing.get(key)
    if (!changes) return undefined
    let low = 0
    let high = changes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (changes[middle]!.revision <= at) low = middle + 1
      else high = middle
    }
    // The first version replaced after `at` was there at `at`, unless it was created later.
    const previous = changes[low]?.previous
    return previous && previous.revision <= at ? previous : undefined
  }

  /** Keys of the range deleted after `at`, and by how much the number of keys in the range has grown since. */
  since(
    at: Revision,
    prefix: string,
    after: string | undefined,
    isBefore: (a: string, b: string) => boolean,
  ): { deleted: string[]; grown: number } {
    const deleted = new Set<string>()
    let grown = 0
    for (let i = at - this.#base; i < this.#commits.length; i++) {
      for (const { key, entry, previous } of this.#commits[i]!.changes) {
        if (entry && previous) continue
        if (!key.startsWith(prefix) || (after !== undefined && !isBefore(after, key))) continue
        if (entry) grown++
        else {
          grown--
          deleted.add(key)
        }
      }
    }
    return { deleted: [...deleted], grown }
  }

  changesAfter(cursor: Revision, prefix: string, most: number): ChangeBatch {
    const changes: Change[] = []
    let i = Math.max(0, cursor - this.#base)
    for (; i < this.#commits.length && changes.length < most; i++) {
      for (const change of this.#commits[i]!.changes) if (change.key.startsWith(prefix)) changes.push(change)
    }
    return { revision: Math.max(cursor, this.#base + i), changes }
  }

  forget(upTo: Revision): void {
    const count = Math.min(upTo - this.#base, this.#commits.length)
    if (count <= 0) return
    for (const commit of this.#commits.splice(0, count)) {
      for (const change of commit.changes) if (change.previous) this.#forgetReplaced(change.key, change.previous)
    }
    this.#base += count
  }

  revisionToKeep(bytes: number): Revision {
    let excess = this.bytes - bytes
    let i = 0
    for (; i < this.#commits.length && excess > 0; i++) {
      for (const { previous } of this.#commits[i]!.changes) if (previous) excess -= previous.value.length + OVERHEAD
    }
    return this.#base + i
  }

  #forgetReplaced(key: string, previous: Entry): void {
    this.bytes -= previous.value.length + OVERHEAD
    const changes = this.#replacing.get(key)!
    if (changes.length === 1) this.#replacing.delete(key)
    else changes.shift()
  }
}
