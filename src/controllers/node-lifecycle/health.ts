import type { Lease } from '../../api/generated/coordination-v1.ts'
import type { Node, NodeCondition } from '../../api/generated/core-v1.ts'
import { findCondition } from '../../api/meta/conditions.ts'

/** How long a node may be silent; a new one a little longer. */
export const MONITOR_GRACE = 50_000
export const STARTUP_GRACE = 60_000

interface Sign {
  /** When this controller last saw a new sign of life, by its own clock: the clocks of nodes are not trusted. */
  seenAt: number
  heartbeat: string | undefined
  renewTime: string | undefined
}

/** When each node was last heard of. */
export class NodeHealth {
  readonly #signs = new Map<string, Sign>()

  /** True if this was a sign of life. */
  seeNode(node: Node, now: number): boolean {
    const sign = this.#signOf(node.metadata.name ?? '', now)
    const heartbeat = findCondition(node.status?.conditions, 'Ready')?.lastHeartbeatTime
    if (sign.heartbeat === heartbeat) return false
    sign.heartbeat = heartbeat
    sign.seenAt = now
    return true
  }

  seeLease(lease: Lease, now: number): void {
    const sign = this.#signOf(lease.metadata.name ?? '', now)
    if (sign.renewTime === lease.spec?.renewTime) return
    sign.renewTime = lease.spec?.renewTime
    sign.seenAt = now
  }

  forget(name: string): void {
    this.#signs.delete(name)
  }

  /** When a node counts as silent, if it stays so. */
  silentAt(node: Node, now: number): number {
    const hasReported = findCondition(node.status?.conditions, 'Ready') !== undefined
    return this.#signOf(node.metadata.name ?? '', now).seenAt + (hasReported ? MONITOR_GRACE : STARTUP_GRACE)
  }

  #signOf(name: string, now: number): Sign {
    const known = this.#signs.get(name)
    if (known) return known
    const sign: Sign = { seenAt: now, heartbeat: undefined, renewTime: undefined }
    this.#signs.set(name, sign)
    return sign
  }
}

const REPORTED = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

/** What is said of a node that says nothing any more; undefined if it is said already. */
export function silentConditions(node: Node, now: string): NodeCondition[] | undefined {
  const known = node.status?.conditions ?? []
  const isSaid = REPORTED.every((type) => findCondition(known, type)?.status === 'Unknown')
  if (isSaid) return undefined
  const created = node.metadata.creationTimestamp ?? now
  const own = REPORTED.map((type): NodeCondition => {
    const before = findCondition(known, type)
    if (before?.status === 'Unknown') return before
    if (before)
      return {
        ...before,
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
        lastTransitionTime: now,
      }
    return {
      type,
      status: 'Unknown',
      reason: 'NodeStatusNeverUpdated',
      message: 'Kubelet never posted node status.',
      lastHeartbeatTime: created,
      lastTransitionTime: now,
    }
  })
  return [...known.filter(({ type }) => !REPORTED.includes(type)), ...own]
}
