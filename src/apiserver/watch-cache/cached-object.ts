import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Entry } from '../../store/store.ts'
import { copyObject } from './copy-object.ts'
import { deepFreeze } from './deep-freeze.ts'
import { ParsedForms } from './parsed-forms.ts'

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * So many bytes of objects are kept in parsed form. Those who look at an object mostly do so together, when it changes;
 * keeping all would cost several times the bytes, and weak references keep them until the next full collection.
 */
const parsedForms = new ParsedForms(2 << 20)

/** Under test, whoever changes a shared object is caught in the act. */
const FREEZES = process.env.SAMPAN_FREEZE_OBJECTS === '1'

/**
 * One version of one object. The bytes are canonical and go out as they are; the parsed form is made when somebody
 * looks inside, is shared by all who look at about the same time, and is dropped again. Never change it.
 */
export class CachedObject {
  readonly key: string
  readonly bytes: Buffer
  readonly revision: number
  #parsed: KubernetesObject | undefined = undefined
  #labels: Readonly<Record<string, string>> | undefined = undefined

  /** `parsed` is given where the parsed form of the bytes is known already. */
  constructor(entry: Pick<Entry, 'key' | 'value' | 'revision'>, parsed?: KubernetesObject) {
    this.key = entry.key
    this.bytes = entry.value
    this.revision = entry.revision
    if (parsed) this.#keep(parsed)
  }

  get object(): KubernetesObject {
    return this.#parsed ?? this.#keep(this.#parse())
  }

  /** The parsed form if there is one; it is not made for this. */
  get known(): KubernetesObject | undefined {
    return this.#parsed
  }

  /** A private copy that may be changed. */
  draft(): KubernetesObject {
    return this.#parsed ? copyObject(this.#parsed) : this.#parse()
  }

  /** Kept apart from the parsed form, because selectors ask for nothing else. */
  get labels(): Readonly<Record<string, string>> {
    this.#labels ??= this.object.metadata.labels ?? NO_LABELS
    return this.#labels
  }

  dropParsed(): void {
    this.#parsed = undefined
  }

  #parse(): KubernetesObject {
    return JSON.parse(this.bytes.toString()) as KubernetesObject
  }

  #keep(parsed: KubernetesObject): KubernetesObject {
    this.#parsed = FREEZES ? deepFreeze(parsed) : parsed
    parsedForms.add(this)
    return parsed
  }
}
