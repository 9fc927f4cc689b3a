import { ApiError } from '../../api/meta/api-error.ts'
import type { KubernetesObject, OwnerReference } from '../../api/meta/object.ts'
import type { Client } from '../../client/client.ts'
import type { ServedType, ServedTypes } from '../served-types.ts'
import { isDeletingDependents } from './metadata.ts'
import { isSame, type Node, type OwnerGraph } from './owner-graph.ts'

/**
 * What an owner reference leads to: an owner that stays, one that waits for its dependents to go, nothing, a kind that
 * is not served now, or (impossible) an owner in a namespace of an object that has none.
 */
export type OwnerState = 'solid' | 'waiting' | 'absent' | 'unknown' | 'impossible'

export async function ownerState(
  { client, graph, types }: { client: Client; graph: OwnerGraph; types: ServedTypes },
  reference: OwnerReference,
  dependent: Node,
): Promise<OwnerState> {
  const known = graph.get(reference.uid)
  if (known && isSame(known, reference, dependent)) return isDeletingDependents(known.metadata) ? 'waiting' : 'solid'
  const type = types.byKind(reference.apiVersion, reference.kind)
  if (!type) return 'unknown'
  if (type.namespaced && !dependent.metadata.namespace) return 'impossible'
  if (!known && graph.isGone(reference.uid)) return 'absent'
  // The graph may be behind: the server is asked before anything is held to be absent.
  const owner = await findObject(client, type, type.namespaced ? dependent.metadata.namespace : '', reference.name)
  if (owner?.metadata.uid !== reference.uid) return 'absent'
  return isDeletingDependents(owner.metadata) ? 'waiting' : 'solid'
}

export async function findObject(
  client: Client,
  type: ServedType,
  namespace: string | undefined,
  name: string,
): Promise<KubernetesObject | undefined> {
  try {
    return await resourceOf(client, type, namespace).get(name)
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return undefined
    throw error
  }
}

export function resourceOf(client: Client, type: ServedType, namespace: string | undefined) {
  const resource = client.resource<KubernetesObject>(type)
  return namespace ? resource.namespace(namespace) : resource
}
