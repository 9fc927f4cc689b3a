import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Clock } from '../../base/clock.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import { type Informer, objectKey } from '../../client/informer.ts'
import type { Watch } from '../controller.ts'

/** Milliseconds after which a write that was never seen counts as seen: a restarted watch may have missed it. */
const TIMEOUT = 5 * 60 * 1000

interface Pending {
  readonly since: number
  readonly created: Set<string>
  readonly deleted: Set<string>
}

/**
 * Which of its own writes a controller has not seen in its informer yet. Until it has, the cache is older than its
 * decisions, and counting what is there would make it create or delete twice.
 * Put `watch` among the controller's watches.
 */
export class Expectations<T extends KubernetesObject> {
  readonly watch: Watch
  readonly #informer: Informer<T>
  readonly #clock: Clock
  readonly #pending = new Map<string, Pending>()
  /** The key that waits for a uid. */
  readonly #keyOfCreated = new Map<string, string>()
  readonly #keyOfDeleted = new Map<string, string>()
  #creating = 0
  /** What came and went while creations were under way, before their answers told whose it was. */
  readonly #gone = new Set<string>()

  constructor(informer: Informer<T>, clock: Clock) {
    this.#informer = informer
    this.#clock = clock
    this.watch = { informer, subscribe: () => informer.onChange((old, current) => this.#observe(old, current)) }
  }

  /** Milliseconds to wait at most before `key` may be acted on; 0 when everything was seen. */
  waitTime(key: string): number {
    const pending = this.#pending.get(key)
    if (!pending) return 0
    const left = pending.since + TIMEOUT - this.#clock.now()
    if (left > 0) return left
    this.forget(key)
    return 0
  }

  /** The owner is gone. */
  forget(key: string): void {
    const pending = this.#pending.get(key)
    for (const uid of pending?.created ?? []) this.#keyOfCreated.delete(uid)
    for (const uid of pending?.deleted ?? []) this.#keyOfDeleted.delete(uid)
    this.#pending.delete(key)
  }

  async create(key: string, create: () => Promise<T>): Promise<T> {
    this.#creating++
    try {
      const created = await create()
      const { uid = '' } = created.metadata
      const isSeen = this.#gone.has(uid) || this.#informer.get(objectKey(created))?.metadata.uid === uid
      if (!isSeen) this.#expect(key, 'created', this.#keyOfCreated, uid)
      return created
    } finally {
      if (--this.#creating === 0) this.#gone.clear()
    }
  }

  async delete<R>(key: string, object: T, remove: () => Promise<R>): Promise<R> {
    const { uid = '' } = object.metadata
    this.#expect(key, 'deleted', this.#keyOfDeleted, uid)
    try {
      const answer = await remove()
      const current = this.#informer.get(objectKey(object))
      if (current?.metadata.uid !== uid || current.metadata.deletionTimestamp) this.#seen(this.#keyOfDeleted, uid)
      return answer
    } catch (error) {
      this.#seen(this.#keyOfDeleted, uid)
      throw error
    }
  }

  #expect(key: string, what: 'created' | 'deleted', keys: Map<string, string>, uid: string): void {
    const pending = getOrCreate(this.#pending, key, () => ({
      since: this.#clock.now(),
      created: new Set<string>(),
      deleted: new Set<string>(),
    }))
    pending[what].add(uid)
    keys.set(uid, key)
  }

  #observe(old: T | undefined, current: T | undefined): void {
    const uid = (current ?? old)?.metadata.uid ?? ''
    this.#seen(this.#keyOfCreated, uid)
    if (current && !current.metadata.deletionTimestamp) return
    this.#seen(this.#keyOfDeleted, uid)
    if (!current && this.#creating > 0) this.#gone.add(uid)
  }

  #seen(keys: Map<string, string>, uid: string): void {
    const key = keys.get(uid)
    if (key === undefined) return
    keys.delete(uid)
    const pending = this.#pending.get(key)
    if (!pending) return
    ;(keys === this.#keyOfCreated ? pending.created : pending.deleted).delete(uid)
    if (pending.created.size + pending.deleted.size === 0) this.#pending.delete(key)
  }
}
