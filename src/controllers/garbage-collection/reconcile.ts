import { ApiError } from '../../api/meta/api-error.ts'
import { apiVersionOf, type KubernetesObject, type OwnerReference } from '../../api/meta/object.ts'
import type { ControllerContext, ReconcileResult } from '../controller.ts'
import type { ServedTypes } from '../served-types.ts'
import { FOREGROUND, hasFinalizer, isDeletingDependents, isOrphaningDependents, ORPHAN, ownersOf } from './metadata.ts'
import { isElsewhere, type Node, type OwnerGraph } from './owner-graph.ts'
import { findObject, type OwnerState, ownerState, resourceOf } from './owner-lookup.ts'

/** Milliseconds after which an owner of a kind that is not served is looked for again. */
const UNKNOWN_PAUSE = 30_000

export interface Collector extends Pick<ControllerContext, 'client' | 'events'> {
  readonly graph: OwnerGraph
  readonly types: ServedTypes
}

/** Brings one object to where its owners and its own deletion want it. */
export async function collect(collector: Collector, uid: string): Promise<ReconcileResult | void> {
  const node = collector.graph.get(uid)
  if (!node) return
  if (isOrphaningDependents(node.metadata)) return orphanDependents(collector, node)
  if (isDeletingDependents(node.metadata)) return finishForeground(collector, node)
  if (node.metadata.deletionTimestamp !== undefined) return
  if (ownersOf(node.metadata).every((reference) => collector.graph.isSolid(reference, node))) return
  return judgeOwners(collector, node)
}

/** An object that has owners stays as long as one of them does. */
async function judgeOwners(collector: Collector, node: Node): Promise<ReconcileResult | void> {
  const latest = await findNode(collector, node)
  if (!latest || latest.metadata.deletionTimestamp !== undefined) return
  const references = ownersOf(latest.metadata)
  const states = new Map<OwnerState, OwnerReference[]>()
  for (const reference of references) {
    reportWrongNamespace(collector, reference, node)
    const state = await ownerState(collector, reference, node)
    states.set(state, [...(states.get(state) ?? []), reference])
  }
  if (references.length === 0 || states.has('impossible')) return
  if (states.has('unknown')) return { retryAfter: UNKNOWN_PAUSE }
  if (states.has('solid')) return forgetOwners(collector, node, latest, states)
  if (states.has('waiting') && collector.graph.hasDependents(node.metadata.uid!))
    return deleteWithDependents(collector, node, latest)
  const policy = hasFinalizer(latest.metadata, ORPHAN)
    ? 'Orphan'
    : hasFinalizer(latest.metadata, FOREGROUND)
      ? 'Foreground'
      : 'Background'
  await deleteObject(collector, node, latest, policy)
}

/** An owner that waits must be let go of, or it would wait for ever. */
async function forgetOwners(
  { client }: Collector,
  { type }: Node,
  latest: KubernetesObject,
  states: ReadonlyMap<OwnerState, readonly OwnerReference[]>,
): Promise<void> {
  const gone = [...(states.get('absent') ?? []), ...(states.get('waiting') ?? [])]
  if (gone.length === 0) return
  const ownerReferences = ownersOf(latest.metadata).filter((reference) => !gone.includes(reference))
  await patchMetadata(client, type, latest, { ownerReferences })
}

async function deleteWithDependents(collector: Collector, node: Node, latest: KubernetesObject): Promise<void> {
  const { client, graph } = collector
  const dependents = [...graph.dependentsOf(node.metadata.uid!)]
  let current = latest
  // Owners in a circle would wait for each other: this one stops blocking its own.
  if (dependents.some(({ metadata }) => isDeletingDependents(metadata))) {
    const ownerReferences = ownersOf(latest.metadata).map((reference) => ({ ...reference, blockOwnerDeletion: false }))
    current = await patchMetadata(client, node.type, latest, { ownerReferences })
  }
  await deleteObject(collector, node, current, 'Foreground')
}

async function deleteObject(
  { client }: Collector,
  { type, metadata }: Node,
  latest: KubernetesObject,
  propagationPolicy: 'Orphan' | 'Background' | 'Foreground',
): Promise<void> {
  const { uid, resourceVersion } = latest.metadata
  await resourceOf(client, type, metadata.namespace)
    .delete(metadata.name!, {
      propagationPolicy,
      preconditions: { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) },
    })
    .catch(ignoreNotFound)
}

async function orphanDependents(collector: Collector, owner: Node): Promise<void> {
  const { client, graph } = collector
  const uid = owner.metadata.uid!
  await Promise.all(
    [...graph.dependentsOf(uid)].map(async (dependent) => {
      const latest = await findNode(collector, dependent)
      const references = ownersOf(latest?.metadata)
      const ownerReferences = references.filter((reference) => reference.uid !== uid)
      if (latest && ownerReferences.length < references.length)
        await patchMetadata(client, dependent.type, latest, { ownerReferences }).catch(ignoreNotFound)
    }),
  )
  await removeFinalizer(collector, owner, ORPHAN)
}

async function finishForeground(collector: Collector, owner: Node): Promise<void> {
  const uid = owner.metadata.uid!
  for (const { metadata } of collector.graph.dependentsOf(uid)) {
    const blocks = ownersOf(metadata).some((reference) => reference.uid === uid && reference.blockOwnerDeletion)
    if (blocks) return
  }
  await removeFinalizer(collector, owner, FOREGROUND)
}

async function removeFinalizer(collector: Collector, node: Node, finalizer: string): Promise<void> {
  const latest = await findNode(collector, node)
  if (!latest || !hasFinalizer(latest.metadata, finalizer)) return
  const finalizers = (latest.metadata.finalizers ?? []).filter((other) => other !== finalizer)
  await patchMetadata(collector.client, node.type, latest, { finalizers }).catch(ignoreNotFound)
}

function patchMetadata(
  client: Collector['client'],
  type: Node['type'],
  { metadata }: KubernetesObject,
  change: { readonly ownerReferences?: readonly OwnerReference[]; readonly finalizers?: readonly string[] },
): Promise<KubernetesObject> {
  const { uid, resourceVersion, name = '', namespace } = metadata
  const lists = Object.entries(change).map(([field, list]) => [field, list.length > 0 ? list : null])
  const patch = { metadata: { uid, resourceVersion, ...Object.fromEntries(lists) } }
  return resourceOf(client, type, namespace).patch(name, patch)
}

/** The object as it is now; undefined if it is gone or another one has its name. */
async function findNode({ client }: Collector, { type, metadata }: Node): Promise<KubernetesObject | undefined> {
  const latest = await findObject(client, type, metadata.namespace, metadata.name!)
  return latest?.metadata.uid === metadata.uid ? latest : undefined
}

function reportWrongNamespace({ graph, events }: Collector, reference: OwnerReference, dependent: Node): void {
  const owner = graph.get(reference.uid)
  if (!owner || !isElsewhere(owner, dependent)) return
  const { apiVersion, kind, name, uid } = reference
  const namespace = dependent.metadata.namespace ?? ''
  const who = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`
  const about = { apiVersion: apiVersionOf(dependent.type), kind: dependent.type.kind, metadata: dependent.metadata }
  const message = `ownerRef ${who} does not exist in namespace ${JSON.stringify(namespace)}`
  events.event(about, 'Warning', 'OwnerRefInvalidNamespace', message)
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof ApiError && error.code === 404)) throw error
}
