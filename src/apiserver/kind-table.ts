import type { Kind } from '../api/kind.ts'

/** Where a kind's objects live: `/registry/pods`, `/registry/deployments.apps`. */
export function storagePrefix(resource: { group: string; plural: string }): string {
  return resource.group === '' ? `/registry/${resource.plural}/` : `/registry/${resource.plural}.${resource.group}/`
}

/** The key of an object below its prefix: `namespace/name`, or `name` where there are no namespaces. */
export function objectKey(prefix: string, namespaced: boolean, namespace: string, name: string): string {
  return namespaced ? `${prefix}${namespace}/${name}` : prefix + name
}

/** Every kind the server knows now. Kinds come and go at run time; whoever derives something listens. */
export class KindTable {
  readonly #byResource = new Map<string, Kind>()
  readonly #byKind = new Map<string, Kind>()
  readonly #listeners = new Set<() => void>()

  constructor(kinds: Iterable<Kind>) {
    for (const kind of kinds) this.#put(kind)
  }

  /** All kinds in the order they were added. */
  list(): Iterable<Kind> {
    return this.#byResource.values()
  }

  byResource(group: string, version: string, plural: string): Kind | undefined {
    return this.#byResource.get(`${group}/${version}/${plural}`)
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

  hasGroupVersion(group: string, version: string): boolean {
    for (const kind of this.#byResource.values()) if (kind.group === group && kind.version === version) return true
    return false
  }

  add(kind: Kind): void {
    this.#put(kind)
    this.#notify()
  }

  remove(kind: Kind): void {
    this.#byResource.delete(`${kind.group}/${kind.version}/${kind.plural}`)
    this.#byKind.delete(`${kind.group}/${kind.version}/${kind.kind}`)
    this.#notify()
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  #put(kind: Kind): void {
    this.#byResource.set(`${kind.group}/${kind.version}/${kind.plural}`, kind)
    this.#byKind.set(`${kind.group}/${kind.version}/${kind.kind}`, kind)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
