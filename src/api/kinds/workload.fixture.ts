import type { PodTemplateSpec } from '../generated/core-v1.ts'
import type { Kind } from '../kind.ts'
import type { FieldError } from '../meta/field-error.ts'
import type { KubernetesObject } from '../meta/object.ts'

/** A pod template as users write it. */
export const sampleTemplate = (spec: object = {}): PodTemplateSpec => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'app', image: 'nginx:1.27' }], ...spec },
})

/** An object of a kind as it stands after the registry's first steps. */
export function created<T extends KubernetesObject>(kind: Kind<T>, spec: object, metadata: object = {}): T {
  const draft = structuredClone({ metadata: { name: 'web', uid: 'u1', ...metadata }, spec }) as unknown as T
  kind.defaults?.(draft)
  kind.prepareCreate?.(draft)
  return draft
}

/** The same object after an update of its spec. */
export function updated<T extends KubernetesObject>(kind: Kind<T>, old: T, spec: object, metadata: object = {}): T {
  const sent = {
    ...old,
    metadata: { ...old.metadata, ...metadata },
    spec: { ...(old as { spec?: object }).spec, ...spec },
  }
  const draft = structuredClone(sent) as T
  kind.defaults?.(draft)
  kind.prepareUpdate?.(draft, old)
  return draft
}

/** Errors as a user reads them. */
export const texts = (errors: readonly FieldError[] | undefined) =>
  (errors ?? []).map((error) => `${error.field}: ${error.message}`)

/** Cells of the columns that are always shown, or of the wide ones. */
export const cells = <T extends KubernetesObject>(kind: Kind<T>, object: T, now: number, priority = 0) =>
  kind.columns.filter((column) => column.priority === priority).map((column) => column.value(object, now))
