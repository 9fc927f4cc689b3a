import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Entry } from '../../store/store.ts'

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * One version of one object. The bytes are canonical and go out as they are; the parsed form is made when somebody
 * looks inside, shared by all who look, and may be dropped again by the garbage collector. Never change it.
 */
export class CachedObject {
  readonly key: string
  readonly bytes: Buffer
  readonly revision: number
  #parsed: WeakRef<KubernetesObject> | undefined
  #labels: Readonly<Record<string, string>> | undefined

  constructor(entry: Pick<Entry, 'key' | 'value' | 'revision'>) {
    this.key = entry.key
    this.bytes = entry.value
    this.revision = entry.revision
  }

  get object(): KubernetesObject {
    const known = this.#parsed?.deref()
    if (known) return known
    const parsed = this.draft()
    this.#parsed = new WeakRef(parsed)
    return parsed
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
