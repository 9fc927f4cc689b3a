import { setImmediate as nextTurn } from 'node:timers/promises'

/** Long work that lets others have their turn: after so much of it, the event loop goes round. */
export class Slices {
  readonly #size: number
  #done = 0

  constructor(size: number) {
    this.#size = size
  }

  async add(work: number): Promise<void> {
    this.#done += work
    if (this.#done < this.#size) return
    this.#done = 0
    await nextTurn()
  }
}
