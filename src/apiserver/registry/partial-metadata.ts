import type { KubernetesObject, ListMeta, ObjectList, ObjectMeta } from '../../api/meta/object.ts'

/** The versions of `meta.k8s.io` in which clients may ask for tables and metadata. */
export type MetaVersion = 'v1' | 'v1beta1'

/** An object reduced to what every object has. Garbage collection and `kubectl get` need no more. */
export interface PartialObjectMetadata {
  kind: 'PartialObjectMetadata'
  apiVersion: `meta.k8s.io/${MetaVersion}`
  metadata: ObjectMeta
}

/** Shares the metadata with the object: never change it. */
export function partialObjectMetadata(object: KubernetesObject, version: MetaVersion = 'v1'): PartialObjectMetadata {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata }
}

export function partialObjectMetadataList(
  objects: readonly KubernetesObject[],
  listMeta: ListMeta,
  version: MetaVersion = 'v1',
): ObjectList<PartialObjectMetadata> {
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: listMeta,
    items: objects.map((object) => partialObjectMetadata(object, version)),
  }
}
