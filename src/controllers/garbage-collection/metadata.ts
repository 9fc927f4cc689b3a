import type { KubernetesObject, ObjectMeta, OwnerReference } from '../../api/meta/object.ts'

export const ORPHAN = 'orphan'
export const FOREGROUND = 'foregroundDeletion'

/**
 * The little of an object that says who owns it and whether it goes. There is one for every object of the cluster, so
 * its fields come one after the other: an object of spread parts would cost a hidden class of its own.
 */
export function ownershipOnly({ metadata }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp } = metadata
  const kept = { name, uid, resourceVersion } as ObjectMeta
  if (namespace !== undefined) kept.namespace = namespace
  if (ownerReferences !== undefined) kept.ownerReferences = ownerReferences
  if (finalizers !== undefined) kept.finalizers = finalizers
  if (deletionTimestamp !== undefined) kept.deletionTimestamp = deletionTimestamp
  return { metadata: kept }
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
