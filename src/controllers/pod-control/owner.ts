import { apiVersionOf, type KubernetesObject, type OwnerReference } from '../../api/meta/object.ts'
import type { Informer } from '../../client/informer.ts'

/** What an owner reference says of its owner's kind. */
export interface OwnerKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The reference that makes `owner` the one controller of a dependent. */
export function controllerRef(owner: KubernetesObject, kind: OwnerKind): OwnerReference {
  const { name = '', uid = '' } = owner.metadata
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, name, uid, controller: true, blockOwnerDeletion: true }
}

export function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller)
}

export const isControlledBy = (object: KubernetesObject, owner: KubernetesObject) =>
  controllerOf(object)?.uid === owner.metadata.uid

/** Add to an informer with `indexes: controllerIndex` before asking for `dependentsOf` or `orphansIn`. */
export const controllerIndex = { 'controller-uid': controllerIndexValues }

function controllerIndexValues(object: KubernetesObject): readonly string[] {
  return [controllerOf(object)?.uid ?? orphans(object.metadata.namespace)]
}

const orphans = (namespace = '') => `none/${namespace}`

export function dependentsOf<T extends KubernetesObject>(informer: Informer<T>, owner: KubernetesObject): T[] {
  return informer.byIndex('controller-uid', owner.metadata.uid ?? '')
}

/** What nobody controls. */
export function orphansIn<T extends KubernetesObject>(informer: Informer<T>, namespace: string | undefined): T[] {
  return informer.byIndex('controller-uid', orphans(namespace))
}
