import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'
import { scaledValue } from '../../api/meta/int-or-string.ts'
import { replicasOf, wantedReplicas } from './rollout.ts'

export const isRollingUpdate = (deployment: Deployment) => deployment.spec?.strategy?.type !== 'Recreate'

/** How many pods beyond those wanted, and how many short of them, a rolling update may have. */
function rollingLimits(deployment: Deployment): { surge: number; unavailable: number } {
  const replicas = replicasOf(deployment)
  const { maxSurge = 0, maxUnavailable = 0 } = deployment.spec?.strategy?.rollingUpdate ?? {}
  const surge = scaledValue(maxSurge, replicas, 'up') ?? 0
  const unavailable = scaledValue(maxUnavailable, replicas, 'down') ?? 0
  // Percentages of few pods may both be none; one pod must be allowed to move.
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable }
}

export const maxSurge = (deployment: Deployment) => (isRollingUpdate(deployment) ? rollingLimits(deployment).surge : 0)

export function maxUnavailable(deployment: Deployment): number {
  if (!isRollingUpdate(deployment)) return 0
  return Math.min(rollingLimits(deployment).unavailable, replicasOf(deployment))
}

export const minAvailable = (deployment: Deployment) => replicasOf(deployment) - maxUnavailable(deployment)

/** The size that the newest ReplicaSet may have now. */
export function newReplicaSetSize(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  newReplicaSet: ReplicaSet | undefined,
): number {
  const wanted = replicasOf(deployment)
  if (!isRollingUpdate(deployment)) return wanted
  const current = replicasOf(newReplicaSet)
  const room = wanted + maxSurge(deployment) - wantedReplicas(all)
  return room <= 0 ? current : current + Math.min(room, wanted - current)
}
