import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { namespaceKind } from '../../api/kinds/core/namespace.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { podDisruptionBudgetKind } from '../../api/kinds/policy/pod-disruption-budget.ts'
import type { InformerFactory } from '../../client/informer-factory.ts'
import { isFinished, podFacts } from '../cache/pod-facts.ts'
import type { ClusterEvent } from '../queue/cluster-event.ts'
import type { SchedulingContext } from '../scheduling-context.ts'

/** What the informer path tells the scheduling path. */
export interface FeedListener {
  /** A pod that needs a node and is ours to place. */
  pending(pod: Pod): void
  /** A pod that needs no node any more: bound, finished or gone. */
  settled(uid: string): void
  happened(event: ClusterEvent): void
  /** Pods that wait for this node may find room now. */
  roomOn(node: number): void
}

/** Keeps the context current from informers. Ends when the returned function is called. */
export function feed(context: SchedulingContext, informers: InformerFactory, listener: FeedListener): () => void {
  const stops = [
    informers.informer(namespaceKind).onChange((old, current) => {
      const { name = '', labels } = (current ?? old)!.metadata
      if (!current) context.cluster.removeNamespace(name)
      else if (context.cluster.setNamespace(name, labels)) listener.happened('NamespaceUpdate')
    }),
    informers.informer(serviceKind).onChange((old, current) => context.selectors.serviceChanged(old, current)),
    informers.informer(podDisruptionBudgetKind).onChange((old, current) => context.budgets.changed(old, current)),
    informers.informer(nodeKind).onChange((old, current) => nodeChanged(context, listener, old, current)),
    context.storage.onChange(() => listener.happened('StorageChange')),
    informers.informer(podKind).onChange((old, current) => podChanged(context, listener, old, current)),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function nodeChanged(
  { cluster }: SchedulingContext,
  listener: FeedListener,
  old: Node | undefined,
  current: Node | undefined,
): void {
  if (!current) cluster.removeNode(old!.metadata.name!)
  else if (cluster.setNode(current)) listener.happened(old ? 'NodeUpdate' : 'NodeAdd')
}

function podChanged(
  context: SchedulingContext,
  listener: FeedListener,
  old: Pod | undefined,
  current: Pod | undefined,
): void {
  const { uid = '' } = (current ?? old)!.metadata
  if (!current || isFinished(current)) {
    context.nominated.delete(uid)
    listener.settled(uid)
    removePod(context, listener, uid)
    return
  }
  if (current.spec?.nodeName) {
    placePod(context, listener, current)
    return
  }
  if (current.metadata.deletionTimestamp) {
    context.nominated.delete(uid)
    listener.settled(uid)
    return
  }
  const { nominatedNodeName } = current.status ?? {}
  if (nominatedNodeName && !context.cluster.getPod(uid)) context.nominated.set(podFacts(current), nominatedNodeName)
  if (context.profileOf(current)) listener.pending(current)
}

const EVENTS = { added: 'PodAdd', changed: 'PodUpdate', relabelled: 'PodLabelUpdate' } as const

function placePod({ cluster, claimUsers, nominated }: SchedulingContext, listener: FeedListener, pod: Pod): void {
  const uid = pod.metadata.uid!
  nominated.delete(uid)
  listener.settled(uid)
  const change = cluster.updatePod(pod, pod.spec!.nodeName!)
  const { facts, node } = cluster.getPod(uid)!
  claimUsers.add(facts)
  if (change === 'same') return
  listener.happened(EVENTS[change])
  if (change !== 'added') listener.roomOn(node)
}

function removePod({ cluster, claimUsers }: SchedulingContext, listener: FeedListener, uid: string): void {
  const placed = cluster.removePod(uid)
  if (!placed) return
  claimUsers.remove(placed.facts)
  listener.happened('PodDelete')
  listener.roomOn(placed.node)
}
