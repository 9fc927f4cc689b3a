import type { Kind } from '../../../api/kind.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { getOrCreate } from '../../../base/get-or-create.ts'
import type { KindTable } from '../../kind-table.ts'
import type { Lister } from '../lister.ts'
import type { AdmissionRequest } from '../plugin.ts'
import { type Rule, ruleMatches } from './rules.ts'
import { equivalentKinds } from './versions.ts'

/** Somebody who wants to be asked about some requests. */
export interface Asked {
  readonly rules: readonly Rule[]
  readonly matchPolicy: string | undefined
}

/** Who is asked, and about which version of the object. */
export interface Match<A extends Asked> {
  readonly asked: A
  readonly kind: Kind
}

/**
 * Finds who is to be asked about a request. What was found for a resource and an operation is kept until the
 * configuration or the kinds change, so a request that concerns nobody costs one look into a map.
 */
export class MatchIndex<A extends Asked> {
  readonly #list: () => Promise<readonly A[]> | readonly A[]
  readonly #kinds: KindTable
  #all: readonly A[] = []
  #found = new WeakMap<Kind, Map<string, readonly Match<A>[]>>()

  /** `list` returns the same array until something changes. */
  constructor(list: () => Promise<readonly A[]> | readonly A[], kinds: KindTable) {
    this.#list = list
    this.#kinds = kinds
    kinds.onChange(() => {
      this.#found = new WeakMap()
    })
  }

  find(request: AdmissionRequest): readonly Match<A>[] | Promise<readonly Match<A>[]> {
    const all = this.#list()
    return all instanceof Promise ? all.then((loaded) => this.#of(loaded, request)) : this.#of(all, request)
  }

  #of(all: readonly A[], request: AdmissionRequest): readonly Match<A>[] {
    if (all.length === 0) return NONE
    if (all !== this.#all) {
      this.#all = all
      this.#found = new WeakMap()
    }
    const { operation, subresource } = request
    const kind = request.requestKind ?? request.kind
    const byDoor = getOrCreate(this.#found, kind, () => new Map<string, readonly Match<A>[]>())
    return getOrCreate(byDoor, `${operation} ${subresource}`, () => this.#search(all, kind, request))
  }

  #search(all: readonly A[], kind: Kind, { operation, subresource }: AdmissionRequest): readonly Match<A>[] {
    const kinds = equivalentKinds(this.#kinds, kind)
    const matches = all.flatMap((asked): Match<A>[] => {
      const seen = asked.matchPolicy === 'Exact' ? [kind] : kinds
      const found = seen.find((one) => asked.rules.some((rule) => ruleMatches(rule, one, subresource, operation)))
      return found ? [{ asked, kind: found }] : []
    })
    return matches.length === 0 ? NONE : matches
  }
}

const NONE: readonly never[] = []

/** What is made of all objects of a resource, made again whenever one of them changes. */
export function derived<T extends KubernetesObject, A>(
  lister: Lister<T>,
  make: (objects: readonly T[]) => readonly A[],
): () => Promise<readonly A[]> | readonly A[] {
  let from: readonly T[] = []
  let made: readonly A[] = []
  const derive = (objects: readonly T[]) => {
    if (objects !== from) {
      from = objects
      made = make(objects)
    }
    return made
  }
  return () => {
    const objects = lister.list()
    return objects instanceof Promise ? objects.then(derive) : derive(objects)
  }
}
