import type { Pod } from '../../api/generated/core-v1.ts'
import type { PodFacts } from '../cache/pod-facts.ts'

/** Which pods with a node use which claim. */
export class ClaimUsers {
  readonly #users = new Map<string, Map<string, Pod>>()

  add({ pod, uid, namespace, claims }: PodFacts): void {
    for (const claim of claims) {
      const key = `${namespace}/${claim}`
      const users = this.#users.get(key) ?? new Map<string, Pod>()
      this.#users.set(key, users.set(uid, pod))
    }
  }

  remove({ uid, namespace, claims }: PodFacts): void {
    for (const claim of claims) {
      const key = `${namespace}/${claim}`
      const users = this.#users.get(key)
      users?.delete(uid)
      if (users?.size === 0) this.#users.delete(key)
    }
  }

  of = (namespace: string, claim: string): Iterable<Pod> => this.#users.get(`${namespace}/${claim}`)?.values() ?? []
}
