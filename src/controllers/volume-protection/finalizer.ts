import type { KubernetesObject } from '../../api/meta/object.ts'

/** The object with or without the finalizer; undefined if it is so already. */
export function withFinalizer<T extends KubernetesObject>(
  object: T,
  finalizer: string,
  wanted: boolean,
): T | undefined {
  const finalizers = object.metadata.finalizers ?? []
  if (finalizers.includes(finalizer) === wanted) return undefined
  const next = wanted ? [...finalizers, finalizer] : finalizers.filter((one) => one !== finalizer)
  return { ...object, metadata: { ...object.metadata, finalizers: next } }
}
