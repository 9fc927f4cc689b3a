import type { Change, Entry, Store } from '../../../store/store.ts'

/** What is made of the keys of a prefix. */
export interface ViewTarget {
  reset(entries: readonly Entry[]): void
  apply(changes: readonly Change[]): void
}

/**
 * Keeps something in memory in step with the keys of a prefix. Loaded on first use; when the watch breaks, the next
 * use loads it anew. It may lag a little behind the store, so what is decided from it is checked by the commit.
 */
export class KeyView implements Disposable {
  readonly #store: Store
  readonly #prefix: string
  readonly #target: ViewTarget
  #loaded: Promise<void> | undefined
  #watch = new AbortController()

  constructor(store: Store, prefix: string, target: ViewTarget) {
    this.#store = store
    this.#prefix = prefix
    this.#target = target
  }

  synced(): Promise<void> {
    this.#loaded ??= this.#load()
    return this.#loaded
  }

  /** Reads everything again: for decisions that a lag would make wrong. */
  refresh(): Promise<void> {
    this.#watch.abort()
    this.#loaded = this.#load()
    return this.#loaded
  }

  async #load(): Promise<void> {
    const watch = new AbortController()
    this.#watch = watch
    try {
      const page = await this.#store.list(this.#prefix)
      if (watch.signal.aborted) return
      this.#target.reset(page.entries)
      void this.#follow(page.revision, watch)
    } catch (error) {
      if (this.#watch === watch) this.#loaded = undefined
      throw error
    }
  }

  async #follow(after: number, watch: AbortController): Promise<void> {
    try {
      for await (const batch of this.#store.watch(this.#prefix, after, watch.signal)) {
        if (watch.signal.aborted) return
        this.#target.apply(batch.changes)
      }
    } catch {
      // Compacted, disconnected or closed: whatever it was, the next use lists again and meets it then.
    }
    if (this.#watch === watch) this.#loaded = undefined
  }

  [Symbol.dispose](): void {
    this.#watch.abort()
  }
}
