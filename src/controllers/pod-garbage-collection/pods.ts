import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { TAINT } from '../../api/meta/well-known.ts'

const ALIVE = new Set(['Pending', 'Running', 'Unknown'])

export const isTerminated = (pod: Pod) => !ALIVE.has(pod.status?.phase ?? 'Pending')

export const isUnscheduledTerminating = (pod: Pod) =>
  pod.metadata.deletionTimestamp !== undefined && !pod.spec?.nodeName

/** Somebody declared that this node is down for certain: nothing on it can still run. */
export const isOutOfService = (node: Node | undefined) =>
  node !== undefined &&
  !isConditionTrue(node.status?.conditions, 'Ready') &&
  node.spec?.taints?.some((taint) => taint.key === TAINT.outOfService) === true

/** Evicted pods before all others, then by age. */
export function oldestFirst(a: Pod, b: Pod): number {
  return compare(evictedRank(a), evictedRank(b)) || compare(created(a), created(b)) || compare(nameOf(a), nameOf(b))
}

const evictedRank = ({ status }: Pod) => (status?.phase === 'Failed' && status.reason === 'Evicted' ? '0' : '1')
const created = ({ metadata }: Pod) => metadata.creationTimestamp ?? ''
const nameOf = ({ metadata }: Pod) => metadata.name ?? ''
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
