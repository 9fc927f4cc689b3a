import type { PersistentVolumeClaim, Pod, Service } from '../../api/generated/core-v1.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { ServedType } from '../served-types.ts'

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
