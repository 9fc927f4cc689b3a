import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Condition, Write } from '../../store/store.ts'

/** Store writes that commit in one transaction with the object they belong to. */
export interface Allocation {
  readonly conditions: readonly Condition[]
  readonly writes: readonly Write[]
}

/**
 * What a kind takes from, and gives back to, a shared pool (Service addresses and node ports). The registry calls it
 * after defaulting and before validation, and commits what it returns together with the object: an address is taken
 * or released exactly once, or not at all. When the commit conflicts, the registry calls it again from the start.
 */
export interface Allocator<T extends KubernetesObject = KubernetesObject> {
  /** May fill fields of the draft. Throws `ApiError` (invalidObject, internalError) when the pool cannot serve it. */
  create(draft: T): Promise<Allocation>
  update(draft: T, old: T): Promise<Allocation>
  release(old: T): Promise<Allocation>
}

export function allocatorOf(
  allocators: ReadonlyMap<string, Allocator>,
  kind: { group: string; plural: string },
): Allocator | undefined {
  return allocators.get(kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`)
}
