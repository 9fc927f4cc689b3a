import type { Allocation } from '../objects/allocation.ts'
import { NO_ALLOCATION } from './commit.ts'

/** What admission takes for one object (quota): committed in the object's transaction, let go when that is decided. */
export class Reservations {
  #allocation = NO_ALLOCATION
  readonly #releases: (() => void)[] = []

  readonly also = (allocation: Allocation, release?: () => void): void => {
    this.#allocation = this.with(allocation)
    if (release) this.#releases.push(release)
  }

  /** Everything taken for the object together. */
  with(own: Allocation): Allocation {
    const taken = this.#allocation
    if (taken === NO_ALLOCATION) return own
    return { conditions: [...own.conditions, ...taken.conditions], writes: [...own.writes, ...taken.writes] }
  }

  /** To be called in any case, once the object is stored or refused. */
  release(): void {
    for (const release of this.#releases.splice(0)) release()
  }
}
