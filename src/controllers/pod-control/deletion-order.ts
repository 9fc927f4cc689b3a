import type { Pod } from '../../api/generated/core-v1.ts'
import { parseTime } from '../../api/meta/time.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import { isReady, readySince } from './pod-state.ts'

const PHASE_ORDER: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }

/** Pods in the order in which a scale down takes them. `related` are all pods that do the same work, these included. */
export function deletionOrder(pods: readonly Pod[], related: readonly Pod[], now: number): Pod[] {
  const onNode = new Map<string, number>()
  for (const { spec } of related) if (spec?.nodeName) onNode.set(spec.nodeName, (onNode.get(spec.nodeName) ?? 0) + 1)
  const rank = (pod: Pod): readonly number[] => {
    const { spec, status, metadata } = pod
    const ready = readySince(pod)
    return [
      spec?.nodeName ? 1 : 0,
      PHASE_ORDER[status?.phase ?? ''] ?? 0,
      isReady(pod) ? 1 : 0,
      deletionCost(pod),
      -(onNode.get(spec?.nodeName ?? '') ?? 0),
      ready === undefined ? 0 : ageRank(ready, now),
      -restarts(pod),
      ageRank(parseTime(metadata.creationTimestamp ?? '') ?? now, now),
    ]
  }
  const ranked = pods.map((pod) => ({ pod, rank: rank(pod) }))
  ranked.sort((a, b) => compareRanks(a.rank, b.rank) || compareUids(a.pod, b.pod))
  return ranked.map(({ pod }) => pod)
}

/** Ages count by their order of magnitude, so that among pods of about the same age chance decides (KEP-2185). */
function ageRank(time: number, now: number): number {
  const age = now - time
  return age <= 0 ? -1 : Math.floor(Math.log2(age * 1e6))
}

function deletionCost(pod: Pod): number {
  const value = pod.metadata.annotations?.[ANNOTATION.podDeletionCost]
  return value !== undefined && /^-?(0|[1-9]\d*)$/.test(value) ? Number(value) : 0
}

function restarts(pod: Pod): number {
  let most = 0
  for (const { restartCount } of pod.status?.containerStatuses ?? []) most = Math.max(most, restartCount)
  return most
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!
  return 0
}

const compareUids = (a: Pod, b: Pod) => ((a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1)
