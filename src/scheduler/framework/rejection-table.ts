import type { Rejection } from '../plugin.ts'

/** Rejections by number, so that columns can hold them; 0 stands for none. */
export class RejectionTable {
  readonly #rejections: (Rejection | undefined)[] = [undefined]
  readonly #places = new Map<Rejection, number>()

  at(place: number): Rejection | undefined {
    return this.#rejections[place]
  }

  placeOf(rejection: Rejection | undefined): number {
    if (!rejection) return 0
    const known = this.#places.get(rejection)
    if (known !== undefined) return known
    const place = this.#rejections.push(rejection) - 1
    this.#places.set(rejection, place)
    return place
  }
}
