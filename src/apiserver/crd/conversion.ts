import type { KubernetesObject } from '../../api/meta/object.ts'

/** Brings custom resources from one version to another. */
export interface Converter {
  /** Versions differ in nothing but their name. */
  readonly isTrivial: boolean
  /** New objects in the wanted version, in the same order. Throws `ApiError`. */
  convert(objects: readonly KubernetesObject[], apiVersion: string): Promise<KubernetesObject[]>
}

export const trivialConverter: Converter = {
  isTrivial: true,
  convert: async (objects, apiVersion) => objects.map((object) => ({ ...object, apiVersion })),
}
