import type { Condition, Entry, Store, Write } from '../../../store/store.ts'
import type { Allocation } from '../../objects/allocation.ts'

/** What one request takes and gives back, gathered until it is committed together with the Service. */
export class Claims implements Allocation {
  readonly conditions: Condition[] = []
  readonly writes: Write[] = []
  readonly #taken = new Set<string>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Whether somebody holds the key, this request included. Asked of the store itself. */
  async isTaken(key: string): Promise<boolean> {
    return this.#taken.has(key) || (await this.#store.get(key)) !== undefined
  }

  /** Holds only if the key is still free at the commit. */
  take(key: string, write: Omit<Write, 'key'>): void {
    this.#taken.add(key)
    this.conditions.push({ key, revision: 0 })
    this.writes.push({ ...write, key })
  }

  /** Gives the key back, if `isOurs` says of what is stored that it belongs to the Service. */
  async release(key: string, isOurs: (entry: Entry) => boolean): Promise<void> {
    const entry = await this.#store.get(key)
    if (entry === undefined || !isOurs(entry)) return
    this.conditions.push({ key, revision: entry.revision })
    this.writes.push({ key })
  }
}
