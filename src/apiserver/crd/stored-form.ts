import type { Kind } from '../../api/kind.ts'
import { apiVersionOf, type KubernetesObject } from '../../api/meta/object.ts'
import { checkShape } from '../../api/schema/check-shape.ts'
import type { StoredForm } from '../objects/stored-form.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import type { Converter } from './conversion.ts'

export interface CustomFormOptions {
  readonly id: string
  readonly kind: Kind
  /** `group/version` that is stored. */
  readonly storageApiVersion: string
  /** The definition never changed, so whatever is stored in this version already has its form. */
  readonly isUnchanged: boolean
  readonly converter: Converter
}

const SHAPE = { prune: true, defaults: true }

/**
 * Custom resources as one version shows them: converted, pruned and defaulted by its schema. Each stored object is
 * looked at once; objects that are fine as they are keep their bytes.
 */
export class CustomForm implements StoredForm {
  readonly id: string
  readonly #options: CustomFormOptions
  readonly #apiVersion: string
  /** How the bytes of an object begin that is stored in this version. */
  readonly #head: Buffer
  readonly #shown = new WeakMap<CachedObject, CachedObject>()

  constructor(options: CustomFormOptions) {
    this.id = options.id
    this.#options = options
    this.#apiVersion = apiVersionOf(options.kind)
    this.#head = Buffer.from(
      `{"kind":${JSON.stringify(options.kind.kind)},"apiVersion":${JSON.stringify(this.#apiVersion)},`,
    )
  }

  read(stored: readonly CachedObject[]): readonly CachedObject[] | Promise<readonly CachedObject[]> {
    const foreign: CachedObject[] = []
    let isSame = true
    const shown = stored.map((object) => {
      const known = this.#known(object)
      if (known === undefined) foreign.push(object)
      else if (known !== object) isSame = false
      return known
    })
    if (foreign.length > 0) return this.#convert(foreign).then(() => stored.map((object) => this.#known(object)!))
    return isSame ? stored : (shown as CachedObject[])
  }

  write(draft: KubernetesObject): KubernetesObject | Promise<KubernetesObject> {
    const { storageApiVersion, converter } = this.#options
    if (storageApiVersion === this.#apiVersion) return draft
    if (converter.isTrivial) return { ...draft, apiVersion: storageApiVersion }
    return converter.convert([draft], storageApiVersion).then(([converted]) => converted!)
  }

  /** What can be shown without asking anybody. */
  #known(stored: CachedObject): CachedObject | undefined {
    const isHere = stored.bytes.subarray(0, this.#head.length).equals(this.#head)
    if (isHere && this.#options.isUnchanged) return stored
    const known = this.#shown.get(stored)
    if (known !== undefined) return known
    if (!isHere && !this.#options.converter.isTrivial) return undefined
    return this.#remember(stored, stored.draft())
  }

  async #convert(stored: readonly CachedObject[]): Promise<void> {
    const drafts = stored.map((object) => object.draft())
    const converted = await this.#options.converter.convert(drafts, this.#apiVersion)
    stored.forEach((object, i) => {
      this.#remember(object, converted[i]!)
    })
  }

  #remember(stored: CachedObject, draft: KubernetesObject): CachedObject {
    draft.apiVersion = this.#apiVersion
    checkShape(draft, this.#options.kind.schema, SHAPE)
    const { kind, apiVersion, metadata, ...rest } = draft
    const value = Buffer.from(JSON.stringify({ kind, apiVersion, metadata, ...rest }))
    const isSame = value.equals(stored.bytes)
    const shown = isSame ? stored : new CachedObject({ key: stored.key, value, revision: stored.revision })
    this.#shown.set(stored, shown)
    this.#shown.set(shown, shown)
    return shown
  }
}
