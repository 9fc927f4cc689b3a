import type { PersistentVolumeClaim, Pod, ResourceQuota, Service } from '../../api/generated/core-v1.ts'
import { matchesScopes } from '../../api/kinds/core/quota/scopes.ts'
import { measuredBy, usageOf } from '../../api/kinds/core/quota/usage.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { addQuantities, formatQuantity, type Quantity, quantityOf } from '../../api/meta/quantity.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { resourceName, type ServedType } from '../served-types.ts'

/** All objects of one kind in the namespace of a quota. */
export interface Measured {
  readonly type: ServedType
  readonly objects: readonly KubernetesObject[]
}

/** What the objects use of everything the quota limits. */
export function usedBy({ spec }: ResourceQuota, measured: readonly Measured[], now: number): Record<string, string> {
  const sums = new Map<string, Quantity>()
  const known = new Set(measured.map(({ type }) => resourceName(type)))
  for (const name of Object.keys(spec?.hard ?? {}))
    if (known.has(resourceName({ ...measuredBy(name), version: '', namespaced: true }))) sums.set(name, quantityOf(0))
  for (const { type, objects } of measured) {
    for (const object of objects) {
      if (!matchesScopes(spec, type, object)) continue
      for (const [name, amount] of usageOf(type, object, now)) {
        const sum = sums.get(name)
        if (sum) sums.set(name, addQuantities(sum, amount))
      }
    }
  }
  return Object.fromEntries([...sums].map(([name, sum]) => [name, formatQuantity(sum)]))
}

/** Most changes of objects, statuses above all, change nothing of what they use. */
export function isChargedAlike(type: ServedType, old: KubernetesObject, current: KubernetesObject): boolean {
  if (type.group !== '') return true
  switch (type.plural) {
    case 'pods':
      return (
        old.metadata.generation === current.metadata.generation &&
        old.metadata.deletionTimestamp === current.metadata.deletionTimestamp &&
        (old as Pod).status?.phase === (current as Pod).status?.phase
      )
    case 'services':
      return deepEqual((old as Service).spec, (current as Service).spec)
    case 'persistentvolumeclaims':
      return (
        deepEqual((old as PersistentVolumeClaim).spec, (current as PersistentVolumeClaim).spec) &&
        deepEqual((old as PersistentVolumeClaim).status, (current as PersistentVolumeClaim).status)
      )
    default:
      return true
  }
}
