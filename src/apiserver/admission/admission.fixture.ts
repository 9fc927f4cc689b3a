import type { Kind } from '../../api/kind.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

/** A lister of these objects. */
export function listerOf<T extends KubernetesObject>(objects: readonly T[]): Lister<T> {
  return {
    get: (name) => objects.find(({ metadata }) => metadata.name === name),
    labels: (name) => objects.find(({ metadata }) => metadata.name === name)?.metadata.labels,
    list: (namespace) =>
      namespace === undefined ? objects : objects.filter(({ metadata }) => metadata.namespace === namespace),
  }
}

/** The draft as the plugin leaves it, or the message it refuses it with. */
export async function admitted<T extends KubernetesObject>(
  plugin: AdmissionPlugin,
  kind: Kind,
  draft: T,
  change: Partial<AdmissionRequest> = {},
): Promise<T | string> {
  const copy = structuredClone(draft)
  const { name = '', namespace = '' } = draft.metadata
  const request = { operation: 'CREATE', kind, subresource: '', namespace, name, draft: copy, old: undefined } as const
  const full = { ...request, user: { name: 'u', groups: [] }, dryRun: false, warn: () => {}, ...change }
  try {
    await plugin.admit?.(full)
    await plugin.validate?.(full)
  } catch (error) {
    return (error as Error).message
  }
  return copy
}
