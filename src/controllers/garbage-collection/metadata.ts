import type { KubernetesObject, ObjectMeta, OwnerReference } from '../../api/meta/object.ts'

export const ORPHAN = 'orphan'
export const FOREGROUND = 'foregroundDeletion'

/** The little of an object that says who owns it and whether it goes. */
export function ownershipOnly({ metadata }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp } = metadata
  return {
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(ownerReferences !== undefined && { ownerReferences }),
      ...(finalizers !== undefined && { finalizers }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
  }
}

const NO_OWNERS: readonly OwnerReference[] = []
export const ownersOf = (metadata: ObjectMeta | undefined) => metadata?.ownerReferences ?? NO_OWNERS

export const hasFinalizer = (metadata: ObjectMeta | undefined, finalizer: string) =>
  metadata?.finalizers?.includes(finalizer) === true

/** Waits until its dependents are gone. */
export const isDeletingDependents = (metadata: ObjectMeta | undefined) =>
  metadata?.deletionTimestamp !== undefined && hasFinalizer(metadata, FOREGROUND)

/** Waits until its dependents no longer name it as their owner. */
export const isOrphaningDependents = (metadata: ObjectMeta | undefined) =>
  metadata?.deletionTimestamp !== undefined && hasFinalizer(metadata, ORPHAN)
