import { tooManyRequests } from '../../api/meta/api-error.ts'

export interface InFlightLimits {
  readonly reading: number
  readonly mutating: number
}

export const DEFAULT_LIMITS: InFlightLimits = { reading: 3000, mutating: 1500 }

/** Bounds how many requests are worked on at once, so that a flood is answered with 429 and not with a lack of memory. */
export class InFlight {
  readonly #limits: InFlightLimits
  #reading = 0
  #mutating = 0

  constructor(limits: InFlightLimits) {
    this.#limits = limits
  }

  /** Throws 429 when there is no room; otherwise the caller must call `leave` with the same argument. */
  enter(isMutating: boolean): void {
    const full = isMutating ? this.#mutating >= this.#limits.mutating : this.#reading >= this.#limits.reading
    if (full) throw tooManyRequests('too many requests, please try again later', 1)
    if (isMutating) this.#mutating++
    else this.#reading++
  }

  leave(isMutating: boolean): void {
    if (isMutating) this.#mutating--
    else this.#reading--
  }

  get counts(): InFlightLimits {
    return { reading: this.#reading, mutating: this.#mutating }
  }
}
