import { deepEqual } from '../base/deep-equal.ts'
import type { StatusSubresource } from './kind.ts'
import type { KubernetesObject } from './meta/object.ts'

/** Pieces from which most kinds build their `prepareCreate`, `prepareUpdate` and `status` door. */

type WithSpecAndStatus = KubernetesObject & { spec?: unknown; status?: unknown }

/** A new object starts at generation 1, without the status its sender may have put in. */
export function prepareCreateWithStatus(draft: WithSpecAndStatus): void {
  delete draft.status
  draft.metadata.generation = 1
}

/** An update of the main resource keeps the status; the generation grows when what is wanted changed. */
export function prepareUpdateWithStatus(draft: WithSpecAndStatus, old: WithSpecAndStatus): void {
  keepField(draft, old, 'status')
  raiseGeneration(draft, old)
}

export function raiseGeneration(draft: WithSpecAndStatus, old: WithSpecAndStatus): void {
  const generation = old.metadata.generation ?? 0
  draft.metadata.generation = deepEqual(draft.spec, old.spec) ? generation : generation + 1
  if (draft.metadata.generation === 0) delete draft.metadata.generation
}

/** Sets a field of the draft back to what it was, also when it was absent. */
export function keepField<T extends KubernetesObject>(draft: T, old: T, field: string): void {
  const target = draft as unknown as Record<string, unknown>
  const value = (old as unknown as Record<string, unknown>)[field]
  if (value === undefined) delete target[field]
  else target[field] = value
}

/** The usual `status` door: everything but status, annotations, finalizers and managed fields stays as it was. */
export function statusSubresource<T extends KubernetesObject>(
  extra: Partial<Omit<StatusSubresource<T>, 'type' | 'verbs'>> = {},
): StatusSubresource<T> {
  return {
    type: 'part',
    verbs: ['get', 'patch', 'update'],
    prepareUpdate(draft, old) {
      for (const field of new Set([...Object.keys(old), ...Object.keys(draft)])) {
        if (field !== 'status' && field !== 'metadata') keepField(draft, old, field)
      }
      keepMetadataField(draft, old, 'labels')
      keepMetadataField(draft, old, 'ownerReferences')
      keepMetadataField(draft, old, 'generation')
    },
    ...extra,
  }
}

function keepMetadataField(
  draft: KubernetesObject,
  old: KubernetesObject,
  field: 'labels' | 'ownerReferences' | 'generation',
) {
  if (old.metadata[field] === undefined) delete draft.metadata[field]
  else Object.assign(draft.metadata, { [field]: old.metadata[field] })
}
