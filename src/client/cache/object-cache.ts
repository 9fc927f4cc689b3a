import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Indexes, Listener } from '../informer.ts'

/** Objects by key and by index, and the listeners who hear of each change. */
export class ObjectCache<T extends KubernetesObject> {
  readonly #keyOf: (object: T) => string
  readonly #onListenerError: (error: unknown) => void
  readonly #objects = new Map<string, T>()
  readonly #indexes = new Map<string, Index<T>>()
  #listeners: readonly Listener<T>[] = []

  constructor(keyOf: (object: T) => string, onListenerError: (error: unknown) => void) {
    this.#keyOf = keyOf
    this.#onListenerError = onListenerError
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  list(): T[] {
    return [...this.#objects.values()]
  }

  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name)
    if (!index) throw new Error(`there is no index ${name}`)
    return [...(index.entries.get(value)?.values() ?? [])]
  }

  addIndexes(indexes: Indexes<T>): void {
    for (const [name, valuesOf] of Object.entries(indexes)) {
      const known = this.#indexes.get(name)
      if (known && known.valuesOf !== valuesOf) throw new Error(`index ${name} exists with another meaning`)
      if (known) continue
      const index: Index<T> = { valuesOf, entries: new Map() }
      this.#indexes.set(name, index)
      for (const [key, object] of this.#objects) insert(index, key, object)
    }
  }

  onChange(listener: Listener<T>): () => void {
    // A new array for each change: whoever is being told right now goes on with the old one.
    this.#listeners = [...this.#listeners, listener]
    for (const object of this.#objects.values()) this.#call(listener, undefined, object)
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener)
    }
  }

  set(object: T): void {
    const key = this.#keyOf(object)
    const old = this.#objects.get(key)
    if (old && old.metadata.resourceVersion === object.metadata.resourceVersion) return
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) {
      const values = index.valuesOf(object)
      if (old) leave(index, key, old, values)
      insert(index, key, object, values)
    }
    this.#tell(old, object)
  }

  delete(object: T): void {
    this.#deleteKey(this.#keyOf(object))
  }

  /** Makes these the objects, telling only of differences. */
  replace(objects: readonly T[]): void {
    const keys = new Set<string>()
    for (const object of objects) keys.add(this.#keyOf(object))
    for (const key of [...this.#objects.keys()]) if (!keys.has(key)) this.#deleteKey(key)
    for (const object of objects) this.#setOrRecreate(object)
  }

  /** An object of the same name and another uid is another object: the old one was deleted in between. */
  #setOrRecreate(object: T): void {
    const old = this.#objects.get(this.#keyOf(object))
    if (old?.metadata.uid !== undefined && old.metadata.uid !== object.metadata.uid) this.delete(old)
    this.set(object)
  }

  #deleteKey(key: string): void {
    const old = this.#objects.get(key)
    if (!old) return
    this.#objects.delete(key)
    for (const index of this.#indexes.values()) leave(index, key, old)
    this.#tell(old, undefined)
  }

  #tell(old: T | undefined, current: T | undefined): void {
    for (const listener of this.#listeners) this.#call(listener, old, current)
  }

  #call(listener: Listener<T>, old: T | undefined, current: T | undefined): void {
    try {
      listener(old, current)
    } catch (error) {
      this.#onListenerError(error)
    }
  }
}

interface Index<T> {
  readonly valuesOf: (object: T) => readonly string[]
  readonly entries: Map<string, Map<string, T>>
}

function insert<T>(index: Index<T>, key: string, object: T, values = index.valuesOf(object)): void {
  for (const value of values) {
    let entry = index.entries.get(value)
    if (!entry) {
      entry = new Map()
      index.entries.set(value, entry)
    }
    entry.set(key, object)
  }
}

/** Takes an object out of where it stands, but for the values under which it will stand again. */
function leave<T>(index: Index<T>, key: string, object: T, kept: readonly string[] = []): void {
  for (const value of index.valuesOf(object)) {
    if (kept.includes(value)) continue
    const entry = index.entries.get(value)
    entry?.delete(key)
    if (entry?.size === 0) index.entries.delete(value)
  }
}
