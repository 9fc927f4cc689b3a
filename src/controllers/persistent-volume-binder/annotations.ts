import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'

/** On a claim: the binding is complete, whoever started it. */
export const BIND_COMPLETED = ANNOTATION.bindCompleted
/** This side of the binding was chosen by the controller, not by the user, and may be undone by it. */
export const BOUND_BY_CONTROLLER = ANNOTATION.boundByController
export const PROVISIONED_BY = ANNOTATION.provisionedBy
export const STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner'
export const BETA_STORAGE_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner'
/** The scheduler's choice, for claims that waited for their first pod. */
export const SELECTED_NODE = ANNOTATION.selectedNode
const DEFAULT_CLASS = [ANNOTATION.isDefaultStorageClass, ANNOTATION.betaIsDefaultStorageClass]

export const hasAnnotation = ({ metadata }: KubernetesObject, name: string) =>
  metadata.annotations?.[name] !== undefined

export const isDefaultClass = ({ metadata }: KubernetesObject) =>
  DEFAULT_CLASS.some((name) => metadata.annotations?.[name] === 'true')

export const classOf = ({ metadata, spec }: PersistentVolume | PersistentVolumeClaim): string =>
  metadata.annotations?.[ANNOTATION.betaStorageClass] ?? spec?.storageClassName ?? ''

/** The object with these annotations; those that are undefined are taken off. */
export function withAnnotations<T extends KubernetesObject>(
  object: T,
  annotations: Readonly<Record<string, string | undefined>>,
): T {
  const all = Object.entries({ ...object.metadata.annotations, ...annotations })
  const kept = Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined))
  return { ...object, metadata: { ...object.metadata, annotations: kept } }
}
