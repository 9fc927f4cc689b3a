import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Entry } from '../../store/store.ts'

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * How many parsed forms are kept. Those who look at an object mostly do so together, when it changes; keeping all
 * would cost several times the bytes, and weak references keep them until the next full collection.
 */
const KEPT = 512

/**
 * One version of one object. The bytes are canonical and go out as they are; the parsed form is made when somebody
 * looks inside, is shared by all who look at about the same time, and is dropped again. Never change it.
 */
export class CachedObject {
  /** The last objects that were parsed, in a ring. */
  static readonly #kept: (CachedObject | undefined)[] = new Array(KEPT).fill(undefined)
  static #next = 0

  readonly key: string
  readonly bytes: Buffer
  readonly revision: number
  #parsed: KubernetesObject | undefined = undefined
  #labels: Readonly<Record<string, string>> | undefined = undefined

  constructor(entry: Pick<Entry, 'key' | 'value' | 'revision'>) {
    this.key = entry.key
    this.bytes = entry.value
    this.revision = entry.revision
  }

  get object(): KubernetesObject {
    if (this.#parsed === undefined) {
      this.#parsed = this.draft()
      CachedObject.#keep(this)
    }
    return this.#parsed
  }

  static #keep(object: CachedObject): void {
    const dropped = CachedObject.#kept[CachedObject.#next]
    if (dropped) dropped.#parsed = undefined
    CachedObject.#kept[CachedObject.#next] = object
    CachedObject.#next = (CachedObject.#next + 1) % KEPT
  }

  /** A private copy that may be changed. */
  draft(): KubernetesObject {
    return JSON.parse(this.bytes.toString()) as KubernetesObject
  }

  /** Kept apart from the parsed form, because selectors ask for nothing else. */
  get labels(): Readonly<Record<string, string>> {
    this.#labels ??= this.object.metadata.labels ?? NO_LABELS
    return this.#labels
  }
}
