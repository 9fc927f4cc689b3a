import type { Pod, ResourceQuotaSpec } from '../../api/generated/core-v1.ts'
import { matchesScopes } from '../../api/kinds/core/quota/scopes.ts'
import { measuredBy, usageOf } from '../../api/kinds/core/quota/usage.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import {
  addQuantities,
  formatQuantity,
  type Quantity,
  quantityOf,
  subtractQuantities,
} from '../../api/meta/quantity.ts'
import { parseTime } from '../../api/meta/time.ts'
import { resourceName, type ServedType } from '../served-types.ts'

/** All objects of one kind in the namespace of a quota. */
export interface Measured {
  readonly type: ServedType
  readonly objects: readonly KubernetesObject[]
}

const COUNT = 'count/'
/** Before any pod's end: what counts then counts until its end is noticed. */
const ALWAYS = 0

/**
 * What the objects of a namespace use of everything one quota limits. It is opened with all objects and told each
 * change after that, so a change costs the same however many objects there are.
 */
export class Ledger {
  readonly spec: ResourceQuotaSpec | undefined
  readonly #sums = new Map<string, Quantity>()
  readonly #types: ReadonlySet<string>
  /** Pods that should have ended by now: they are no longer charged, though they are still there. */
  readonly #overdue = new Set<string>()
  #validUntil = Number.POSITIVE_INFINITY

  constructor(spec: ResourceQuotaSpec | undefined, measured: readonly Measured[], now: number) {
    this.spec = spec
    this.#types = new Set(measured.map(({ type }) => resourceName(type)))
    for (const name of Object.keys(spec?.hard ?? {}))
      if (this.#types.has(measuredName(name))) this.#sums.set(name, quantityOf(0))
    for (const { type, objects } of measured) {
      for (const object of objects) {
        if (endOf(type, object) <= now) this.#overdue.add(object.metadata.uid!)
        this.#add(type, object)
      }
    }
  }

  /** When the next pod may be overdue, in milliseconds: then a new ledger must be opened. */
  get validUntil(): number {
    return this.#validUntil
  }

  measures(type: ServedType): boolean {
    return this.#types.has(resourceName(type))
  }

  change(type: ServedType, old: KubernetesObject | undefined, current: KubernetesObject | undefined): void {
    if (old) this.#charge(type, old, subtractQuantities)
    if (current) this.#add(type, current)
    else if (old) this.#overdue.delete(old.metadata.uid!)
  }

  used(): Record<string, string> {
    return Object.fromEntries([...this.#sums].map(([name, sum]) => [name, formatQuantity(sum)]))
  }

  #add(type: ServedType, object: KubernetesObject): void {
    this.#charge(type, object, addQuantities)
    if (!this.#overdue.has(object.metadata.uid!)) this.#validUntil = Math.min(this.#validUntil, endOf(type, object))
  }

  #charge(type: ServedType, object: KubernetesObject, apply: typeof addQuantities): void {
    if (!matchesScopes(this.spec, type, object)) return
    const now = this.#overdue.has(object.metadata.uid!) ? Number.POSITIVE_INFINITY : ALWAYS
    for (const [name, amount] of usageOf(type, object, now)) {
      const sum = this.#sums.get(name)
      if (sum) this.#sums.set(name, apply(sum, amount))
    }
  }
}

/** `pods`, `deployments.apps`: what a name in a quota is measured by. */
export function measuredName(name: string): string {
  if (name.startsWith(COUNT)) return name.slice(COUNT.length)
  return resourceName({ ...measuredBy(name), version: '', namespaced: true })
}

/** When a pod that is being deleted should have ended, twice its grace period after it was told to. */
function endOf({ group, plural }: ServedType, object: KubernetesObject): number {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata
  if (group !== '' || plural !== 'pods' || deletionTimestamp === undefined) return Number.POSITIVE_INFINITY
  if (deletionGracePeriodSeconds === undefined || isFinished(object as Pod)) return Number.POSITIVE_INFINITY
  return (parseTime(deletionTimestamp) ?? 0) + deletionGracePeriodSeconds * 1000
}

const isFinished = ({ status }: Pod) => status?.phase === 'Succeeded' || status?.phase === 'Failed'
