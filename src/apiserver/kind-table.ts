import type { Kind } from '../api/kind.ts'
import type { ResourceRef } from '../api/meta/api-error.ts'
import { getOrCreate } from '../base/get-or-create.ts'
import type { StoredForm } from './objects/stored-form.ts'
import { storagePrefix } from './watch-cache/storage-key.ts'

export interface KindPlace {
  /** The version that is stored. */
  readonly storage: Kind
  readonly prefix: string
  readonly ref: ResourceRef
  /** Set where stored objects are not shown as they are. */
  readonly form?: StoredForm
}

/** Every kind the server knows now. Kinds come and go at run time; whoever derives something listens. */
export class KindTable {
  /** By group, version and plural: looked up for every request, so without making a key of them. */
  readonly #byResource = new Map<string, Map<string, Map<string, Kind>>>()
  readonly #places = new WeakMap<Kind, KindPlace>()
  readonly #forms = new WeakMap<Kind, StoredForm>()
  readonly #byKind = new Map<string, Kind>()
  readonly #listeners = new Set<() => void>()

  constructor(kinds: Iterable<Kind>) {
    for (const kind of kinds) this.#put(kind)
  }

  /** All kinds in the order they were added. */
  list(): Iterable<Kind> {
    return this.#byKind.values()
  }

  byResource(group: string, version: string, plural: string): Kind | undefined {
    return this.#byResource.get(group)?.get(version)?.get(plural)
  }

  /** Where objects of a kind are stored, and how errors name it. */
  placeOf(kind: Kind): KindPlace {
    return getOrCreate(this.#places, kind, () => {
      const storage = this.storageOf(kind)
      const form = this.#forms.get(kind)
      const ref = { group: kind.group, resource: kind.plural }
      return { storage, prefix: storagePrefix(storage), ref, ...(form && { form }) }
    })
  }

  byKind(group: string, version: string, kind: string): Kind | undefined {
    return this.#byKind.get(`${group}/${version}/${kind}`)
  }

  /** The kind whose version is stored, for a kind that may be another version of it. */
  storageOf(kind: Kind): Kind {
    if (!kind.conversion) return kind
    const { group, version, plural } = kind.conversion.storage
    const storage = this.byResource(group, version, plural)
    if (!storage) throw new Error(`${kind.kind} is stored as ${group}/${version} ${plural}, which is not known`)
    return storage
  }

  add(kind: Kind): void {
    this.#put(kind)
    this.#notify()
  }

  remove(kind: Kind): void {
    this.#delete(kind)
    this.#notify()
  }

  /** Several changes that nobody shall see half done. */
  replace(gone: Iterable<Kind>, come: Iterable<Kind>): void {
    for (const kind of gone) this.#delete(kind)
    for (const kind of come) this.#put(kind)
    this.#notify()
  }

  /** To be told before anything is read or written as this kind. */
  setForm(kind: Kind, form: StoredForm): void {
    this.#forms.set(kind, form)
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  #delete(kind: Kind): void {
    this.#byResource.get(kind.group)?.get(kind.version)?.delete(kind.plural)
    this.#byKind.delete(`${kind.group}/${kind.version}/${kind.kind}`)
  }

  #put(kind: Kind): void {
    const versions = getOrCreate(this.#byResource, kind.group, () => new Map<string, Map<string, Kind>>())
    getOrCreate(versions, kind.version, () => new Map<string, Kind>()).set(kind.plural, kind)
    this.#byKind.set(`${kind.group}/${kind.version}/${kind.kind}`, kind)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
