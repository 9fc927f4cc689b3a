import type { Node, Taint } from '../../api/generated/core-v1.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { TAINT } from '../../api/meta/well-known.ts'

export const NOT_READY = TAINT.notReady
export const UNREACHABLE = TAINT.unreachable

/** Which taint keeps new pods away while a condition has a status. */
const TAINT_OF_CONDITION: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: NOT_READY, Unknown: UNREACHABLE },
  MemoryPressure: { True: TAINT.memoryPressure },
  DiskPressure: { True: TAINT.diskPressure },
  NetworkUnavailable: { True: TAINT.networkUnavailable },
  PIDPressure: { True: TAINT.pidPressure },
}
const OWN_NO_SCHEDULE = new Set([
  ...Object.values(TAINT_OF_CONDITION).flatMap((byStatus) => Object.values(byStatus)),
  TAINT.unschedulable,
])

export type ReadyStatus = 'True' | 'False' | 'Unknown'

/** A node that never said anything counts as unknown. */
export function readyStatus(node: Node): ReadyStatus {
  return (findCondition(node.status?.conditions, 'Ready')?.status ?? 'Unknown') as ReadyStatus
}

/** The taint that drives pods away from a node in this state. */
export const evictingTaint = (ready: ReadyStatus): string | undefined =>
  ready === 'True' ? undefined : ready === 'False' ? NOT_READY : UNREACHABLE

export const hasEvictingTaint = (node: Node) => (node.spec?.taints ?? []).some(isEvicting)

const isEvicting = ({ key, effect }: Taint) => effect === 'NoExecute' && (key === NOT_READY || key === UNREACHABLE)

const NO_TAINTS: readonly Taint[] = []

export const taintsOf = (node: Node): readonly Taint[] => node.spec?.taints ?? NO_TAINTS

/** The node's spec with these taints; none is no field, not an empty list. */
export function withTaints({ spec }: Node, taints: readonly Taint[]): NonNullable<Node['spec']> {
  const { taints: _, ...others } = spec ?? {}
  return taints.length > 0 ? { ...others, taints: [...taints] } : others
}

/** The taints a node should have; the same array if it has them. `evicting` is the NoExecute taint to carry, if any. */
export function desiredTaints(node: Node, evicting: string | undefined, now: string): readonly Taint[] {
  const known = taintsOf(node)
  const wanted = noScheduleKeys(node)
  const kept = known.filter((taint) =>
    taint.effect === 'NoSchedule' && OWN_NO_SCHEDULE.has(taint.key)
      ? wanted.delete(taint.key)
      : !isEvicting(taint) || taint.key === evicting,
  )
  const isNew = evicting !== undefined && !kept.some((taint) => isEvicting(taint))
  if (kept.length === known.length && wanted.size === 0 && !isNew) return known
  const added: Taint[] = [...wanted].map((key) => ({ key, effect: 'NoSchedule' }))
  return [...kept, ...added, ...(isNew ? [{ key: evicting, effect: 'NoExecute', timeAdded: now }] : [])]
}

function noScheduleKeys(node: Node): Set<string> {
  const keys = new Set<string>()
  for (const { type, status } of node.status?.conditions ?? []) {
    const key = TAINT_OF_CONDITION[type]?.[status]
    if (key !== undefined) keys.add(key)
  }
  if (node.spec?.unschedulable) keys.add(TAINT.unschedulable)
  return keys
}
