import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'
import { desiredReplicas, maxReplicas } from './annotations.ts'
import { isRollingUpdate, maxSurge } from './limits.ts'
import type { Sizes } from './rolling-update.ts'
import { allReplicaSets, availableOf, byAge, isScaledUp, type Rollout, replicasOf, wantedReplicas } from './rollout.ts'

/** Whether the wish for replicas changed since the ReplicaSets got their sizes. */
export function isScalingEvent({ deployment, ...rest }: Rollout): boolean {
  const wanted = replicasOf(deployment)
  return allReplicaSets({ deployment, ...rest })
    .filter(isScaledUp)
    .some((replicaSet) => {
      const desired = desiredReplicas(replicaSet)
      return desired !== undefined && desired !== wanted
    })
}

/** Sizes after the Deployment was scaled. In the middle of a rollout each ReplicaSet grows or shrinks by its share. */
export function scaledSizes(rollout: Rollout): Sizes {
  const { deployment, newReplicaSet, oldReplicaSets } = rollout
  const only = activeOrLatest(rollout)
  if (only) return new Map([[only, replicasOf(deployment)]])
  if (isSaturated(deployment, newReplicaSet))
    return new Map(oldReplicaSets.filter(isScaledUp).map((replicaSet) => [replicaSet, 0]))
  return isRollingUpdate(deployment) ? proportionalSizes(rollout) : new Map()
}

/** The one ReplicaSet to scale; undefined when there are several with pods, or none at all. */
function activeOrLatest(rollout: Rollout): ReplicaSet | undefined {
  const active = allReplicaSets(rollout).filter(isScaledUp)
  if (active.length > 1) return undefined
  return active[0] ?? rollout.newReplicaSet ?? rollout.oldReplicaSets.at(-1)
}

function isSaturated(deployment: Deployment, replicaSet: ReplicaSet | undefined): boolean {
  const wanted = replicasOf(deployment)
  if (!replicaSet) return false
  return (
    replicasOf(replicaSet) === wanted && desiredReplicas(replicaSet) === wanted && availableOf(replicaSet) === wanted
  )
}

function proportionalSizes(rollout: Rollout): Sizes {
  const { deployment } = rollout
  const active = allReplicaSets(rollout).filter(isScaledUp)
  const wanted = replicasOf(deployment)
  const allowed = wanted > 0 ? wanted + maxSurge(deployment) : 0
  const change = allowed - wantedReplicas(active)
  // The largest first; of equals the newest grows first and the oldest shrinks first.
  const sorted = active.sort((a, b) => replicasOf(b) - replicasOf(a) || (change > 0 ? byAge(b, a) : byAge(a, b)))
  const sizes = new Map<ReplicaSet, number>()
  let done = 0
  for (const replicaSet of sorted) {
    const share = shareOf(replicaSet, deployment, change - done)
    sizes.set(replicaSet, replicasOf(replicaSet) + share)
    done += share
  }
  // What rounding left over goes to the largest.
  const largest = sorted[0]
  if (largest) sizes.set(largest, Math.max(0, sizes.get(largest)! + change - done))
  return sizes
}

function shareOf(replicaSet: ReplicaSet, deployment: Deployment, left: number): number {
  if (left === 0) return 0
  const share = fraction(replicaSet, deployment)
  return left > 0 ? Math.min(share, left) : Math.max(share, left)
}

/** How much this ReplicaSet would change if it kept its part of the whole. */
function fraction(replicaSet: ReplicaSet, deployment: Deployment): number {
  const size = replicasOf(replicaSet)
  const wanted = replicasOf(deployment)
  if (wanted === 0) return -size
  const before = maxReplicas(replicaSet) ?? deployment.status?.replicas ?? 0
  if (before === 0) return 0
  return Math.round((size * (wanted + maxSurge(deployment))) / before) - size
}
