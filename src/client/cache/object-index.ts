import type { KubernetesObject } from '../../api/meta/object.ts'
import { getOrCreate } from '../../base/get-or-create.ts'

interface Index<T> {
  readonly valuesOf: (object: T) => readonly string[]
  readonly buckets: Map<string, Map<string, T>>
}

const NAMESPACE = 'namespace'

/** Objects by key, and by whatever else they are looked for. A change costs as much as it has index values. */
export class ObjectIndex<T extends KubernetesObject> {
  readonly #objects = new Map<string, T>()
  readonly #indexes = new Map<string, Index<T>>()

  constructor() {
    this.addIndex(NAMESPACE, (object) => [object.metadata.namespace ?? ''])
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  all(): T[] {
    return [...this.#objects.values()]
  }

  inNamespace(namespace: string): T[] {
    return [...this.byIndex(NAMESPACE, namespace)]
  }

  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name)
    if (!index) throw new Error(`there is no index ${name}; add it before use`)
    const bucket = index.buckets.get(value)
    return bucket ? [...bucket.values()] : []
  }

  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void {
    if (this.#indexes.has(name)) return
    const index: Index<T> = { valuesOf, buckets: new Map() }
    this.#indexes.set(name, index)
    for (const [key, object] of this.#objects) file(index, key, object)
  }

  set(key: string, object: T): void {
    const old = this.#objects.get(key)
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) {
      if (old) unfile(index, key, old)
      file(index, key, object)
    }
  }

  delete(key: string): void {
    const old = this.#objects.get(key)
    if (!old) return
    this.#objects.delete(key)
    for (const index of this.#indexes.values()) unfile(index, key, old)
  }
}

function file<T>({ valuesOf, buckets }: Index<T>, key: string, object: T): void {
  for (const value of valuesOf(object)) getOrCreate(buckets, value, () => new Map<string, T>()).set(key, object)
}

function unfile<T>({ valuesOf, buckets }: Index<T>, key: string, object: T): void {
  for (const value of valuesOf(object)) {
    const bucket = buckets.get(value)
    if (bucket?.delete(key) && bucket.size === 0) buckets.delete(value)
  }
}
