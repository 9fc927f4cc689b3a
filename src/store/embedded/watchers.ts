import type { Change, ChangeBatch, Revision } from '../store.ts'
import type { Commit, State } from './state.ts'

/** A batch read back from history stops after the commit that reaches this many changes. */
const BATCH_CHANGES = 1000

/**
 * All watches of a store. A watch whose reader waits stands in the group of its prefix and is handed what lands; a
 * watch whose reader is busy holds nothing but its revision, and reads history when the reader comes back.
 */
export class Watchers {
  readonly #state: State
  readonly #all = new Set<Watch>()
  /** Groups whose prefix ends in a slash, as Kubernetes' do, are found from the key; the few others are tried. */
  readonly #bySlash = new Map<string, Group>()
  readonly #others = new Map<string, Group>()

  constructor(state: State) {
    this.#state = state
  }

  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<ChangeBatch> {
    const watch: Watch = new Watch(this.#state, this.#group(prefix), after, signal, () => this.#remove(watch))
    this.#all.add(watch)
    if (signal.aborted) watch.end()
    return watch
  }

  /** Hands newly visible commits to every waiting reader. */
  notify(commits: readonly Commit[]): void {
    if (this.#all.size === 0) return
    const touched: Group[] = []
    for (const commit of commits) for (const change of commit.changes) this.#collect(change, touched)
    for (const group of touched) group.deliver(this.#state.revision)
  }

  requestProgress(): void {
    for (const watch of this.#all) watch.requestProgress()
  }

  /** Ends every watch. */
  close(): void {
    for (const watch of this.#all) watch.end()
  }

  #collect(change: Change, touched: Group[]): void {
    const { key } = change
    for (let slash = key.indexOf('/'); slash >= 0; slash = key.indexOf('/', slash + 1)) {
      this.#bySlash.get(key.slice(0, slash + 1))?.collect(change, touched)
    }
    for (const group of this.#others.values()) if (key.startsWith(group.prefix)) group.collect(change, touched)
  }

  #group(prefix: string): Group {
    const groups = prefix.endsWith('/') ? this.#bySlash : this.#others
    let group = groups.get(prefix)
    if (!group) {
      group = new Group(prefix)
      groups.set(prefix, group)
    }
    group.watches++
    return group
  }

  #remove(watch: Watch): void {
    if (!this.#all.delete(watch)) return
    const { group } = watch
    if (--group.watches > 0) return
    this.#bySlash.delete(group.prefix)
    this.#others.delete(group.prefix)
  }
}

/** The waiting watches of one prefix; they share the batches. */
class Group {
  readonly prefix: string
  readonly waiting = new Set<Watch>()
  watches = 0
  #changes: Change[] = []

  constructor(prefix: string) {
    this.prefix = prefix
  }

  collect(change: Change, touched: Group[]): void {
    if (this.waiting.size === 0) return
    if (this.#changes.length === 0) touched.push(this)
    this.#changes.push(change)
  }

  deliver(revision: Revision): void {
    const batch = { revision, changes: this.#changes }
    this.#changes = []
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const watch of waiting) watch.hand(batch)
  }
}

class Watch implements AsyncIterableIterator<ChangeBatch> {
  readonly group: Group
  readonly #state: State
  readonly #signal: AbortSignal
  readonly #onEnd: () => void
  #cursor: Revision
  /** Resolves the promise of the reader that waits. */
  #reader: ((result: IteratorResult<ChangeBatch>) => void) | undefined
  #progressWanted = false
  #ended = false

  constructor(state: State, group: Group, after: Revision, signal: AbortSignal, onEnd: () => void) {
    this.#state = state
    this.group = group
    this.#cursor = after
    this.#signal = signal
    this.#onEnd = onEnd
    signal.addEventListener('abort', this.end, { once: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<ChangeBatch>> {
    if (this.#ended) return Promise.resolve({ done: true, value: undefined })
    if (this.#reader) return Promise.reject(new Error('a watch has one reader, which is waiting already'))
    try {
      const batch = this.#catchUp()
      if (batch) return Promise.resolve({ done: false, value: batch })
    } catch (error) {
      this.end()
      return Promise.reject(error)
    }
    this.group.waiting.add(this)
    return new Promise((resolve) => {
      this.#reader = resolve
    })
  }

  return(): Promise<IteratorResult<ChangeBatch>> {
    this.end()
    return Promise.resolve({ done: true, value: undefined })
  }

  hand(batch: ChangeBatch): void {
    const wanted = this.#notBeforeStart(batch)
    if (wanted !== batch && wanted.changes.length === 0) {
      this.group.waiting.add(this)
      return
    }
    this.#cursor = Math.max(this.#cursor, batch.revision)
    const reader = this.#reader
    this.#reader = undefined
    reader?.({ done: false, value: wanted })
  }

  requestProgress(): void {
    if (!this.#reader) {
      this.#progressWanted = true
      return
    }
    this.group.waiting.delete(this)
    this.hand({ revision: this.#state.revision, changes: [] })
  }

  readonly end = (): void => {
    if (this.#ended) return
    this.#ended = true
    this.#signal.removeEventListener('abort', this.end)
    this.group.waiting.delete(this)
    this.#onEnd()
    this.#reader?.({ done: true, value: undefined })
    this.#reader = undefined
  }

  /** A watch may have been asked to start after a revision that was yet to come. */
  #notBeforeStart(batch: ChangeBatch): ChangeBatch {
    const first = batch.changes[0]
    if (!first || first.revision > this.#cursor) return batch
    return { ...batch, changes: batch.changes.filter((change) => change.revision > this.#cursor) }
  }

  #catchUp(): ChangeBatch | undefined {
    while (this.#cursor < this.#state.revision) {
      const batch = this.#state.changesAfter(this.#cursor, this.group.prefix, BATCH_CHANGES)
      this.#cursor = batch.revision
      if (batch.changes.length > 0) return batch
    }
    if (!this.#progressWanted) return undefined
    this.#progressWanted = false
    return { revision: this.#state.revision, changes: [] }
  }
}
