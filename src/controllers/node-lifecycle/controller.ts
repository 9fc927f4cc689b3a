import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { leaseKind } from '../../api/kinds/coordination/lease.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { formatTime } from '../../api/meta/time.ts'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import { type Controller, type ControllerContext, ownKey, type ReconcileQueue, watch } from '../controller.ts'
import { podsByNode } from '../pods-by-node.ts'
import { NodeHealth, silentConditions } from './health.ts'
import { desiredTaints, evictingTaint, hasEvictingTaint, readyStatus, taintsOf, withTaints } from './taints.ts'
import { Zones } from './zones.ts'

/** As many as nodes are registered at once: they are worked on while they are fresh. */
const WORKERS = 64

/** Notices nodes that fell silent, says so in their conditions, and taints them, so that pods stay or go away. */
export function nodeLifecycleController(context: ControllerContext): Controller {
  const { client, informers, clock, events } = context
  const nodes = informers.informer(nodeKind)
  const leases = informers.informer(leaseKind, { namespace: NAMESPACE.nodeLease })
  const pods = informers.informer(podKind, { indexes: podsByNode })
  const health = new NodeHealth()
  const zones = new Zones()
  /** Nodes whose pods were marked, so that a kubelet that still reports is not overruled again and again. */
  const marked = new Set<string>()
  let queue: ReconcileQueue | undefined

  async function reconcile(name: string) {
    const found = nodes.get(name)
    if (!found) return
    const silentAt = health.silentAt(found, clock.now())
    const node = silentAt <= clock.now() ? await sayUnknown(found) : found
    await followReadiness(node)
    const turn = await taint(node)
    const waits = [silentAt - clock.now(), turn ?? 0].filter((wait) => wait > 0)
    return waits.length > 0 ? { retryAfter: Math.min(...waits) } : undefined
  }

  async function sayUnknown(node: Node): Promise<Node> {
    const conditions = silentConditions(node, formatTime(clock.now()))
    if (!conditions) return node
    return client.resource(nodeKind).updateStatus({ ...node, status: { ...node.status, conditions } })
  }

  async function followReadiness(node: Node): Promise<void> {
    const { name = '' } = node.metadata
    const isReady = readyStatus(node) === 'True'
    setZone(node, isReady)
    if (isReady) return void marked.delete(name)
    if (marked.has(name)) return
    events.event(node, 'Normal', 'NodeNotReady', `Node ${name} status is now: NodeNotReady`)
    for (const pod of pods.byIndex('node', name)) await markNotReady(pod)
    marked.add(name)
  }

  /** When the last zone goes down or the first comes back, every node has to be looked at. */
  function setZone(node: Node, isReady: boolean): void {
    const before = zones.isAllDown
    zones.set(node, isReady)
    if (before !== zones.isAllDown) for (const { metadata } of nodes.list()) queue?.add(metadata.name ?? '')
  }

  async function markNotReady(pod: Pod): Promise<void> {
    if (!isConditionTrue(pod.status?.conditions, 'Ready')) return
    const time = formatTime(clock.now())
    const conditions = pod.status!.conditions!.map((condition) =>
      condition.type === 'Ready' ? { ...condition, status: 'False', lastTransitionTime: time } : condition,
    )
    events.event(pod, 'Warning', 'NodeNotReady', 'Node is not ready')
    const status = { ...pod.status, conditions }
    await client
      .resource(podKind)
      .updateStatus({ ...pod, status })
      .catch(ignoreGone)
  }

  /** Milliseconds to wait until pods may be driven away, or nothing. */
  async function taint(node: Node): Promise<number | undefined> {
    const { name = '' } = node.metadata
    const wanted = evictingTaint(readyStatus(node))
    const isTainted = hasEvictingTaint(node)
    const turn = wanted !== undefined && !isTainted ? zones.turnIn(name, clock.now()) : 0
    const evicting = turn === 0 && !zones.isAllDown ? wanted : undefined
    const taints = desiredTaints(node, evicting, formatTime(clock.now()))
    if (taints !== taintsOf(node)) await client.resource(nodeKind).update({ ...node, spec: withTaints(node, taints) })
    return turn
  }

  return {
    name: 'node-lifecycle-controller',
    workers: WORKERS,
    watches: [
      watch(nodes, (old, current) => {
        const name = (current ?? old)!.metadata.name ?? ''
        if (!current) {
          health.forget(name)
          zones.delete(name)
          marked.delete(name)
          events.event(old!, 'Normal', 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`)
          return []
        }
        if (!old && queue)
          events.event(current, 'Normal', 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`)
        health.seeNode(current, clock.now())
        return ownKey(old, current)
      }),
      // A renewed lease only moves the time at which its node would be missed: nothing to do yet.
      watch(leases, (_old, current) => {
        if (current) health.seeLease(current, clock.now())
        return []
      }),
      watch(pods, () => []),
    ],
    start: (started) => {
      queue = started
    },
    reconcile,
  }
}

function ignoreGone(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return
  throw error
}
