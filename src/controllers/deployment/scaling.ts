import type { ReplicaSet } from '../../api/generated/apps-v1.ts'
import { desiredReplicas, maxReplicas } from './annotations.ts'
import { apportion } from './apportion.ts'
import { isRollingUpdate, maxSurge } from './limits.ts'
import type { Sizes } from './rolling-update.ts'
import { allReplicaSets, availableOf, byAge, isScaledUp, type Rollout, replicasOf, wantedReplicas } from './rollout.ts'

const withPods = (rollout: Rollout) => allReplicaSets(rollout).filter(isScaledUp)

/** Whether `spec.replicas` changed since the ReplicaSets got their sizes. */
export function isScalingEvent(rollout: Rollout): boolean {
  const now = replicasOf(rollout.deployment)
  return withPods(rollout).some((replicaSet) => (desiredReplicas(replicaSet) ?? now) !== now)
}

/** Sizes after the Deployment was scaled. In the middle of a rollout each ReplicaSet keeps its part of the whole. */
export function scaledSizes(rollout: Rollout): Sizes {
  const { deployment, newReplicaSet, oldReplicaSets } = rollout
  const running = withPods(rollout)
  if (running.length <= 1) {
    const only = running[0] ?? newReplicaSet ?? oldReplicaSets.at(-1)
    return new Map(only && [[only, replicasOf(deployment)]])
  }
  if (isRolledOut(rollout)) return new Map(oldReplicaSets.filter(isScaledUp).map((old) => [old, 0]))
  return isRollingUpdate(deployment) ? sharedSizes(rollout, running) : new Map()
}

/** The newest ReplicaSet was sized for the current `spec.replicas`, and all its pods are available. */
function isRolledOut({ deployment, newReplicaSet }: Rollout): boolean {
  if (!newReplicaSet) return false
  const figures = [replicasOf, desiredReplicas, availableOf].map((figure) => figure(newReplicaSet))
  return figures.every((figure) => figure === replicasOf(deployment))
}

function sharedSizes({ deployment }: Rollout, running: readonly ReplicaSet[]): Sizes {
  const replicas = replicasOf(deployment)
  const whole = replicas === 0 ? 0 : replicas + maxSurge(deployment)
  // What rounding leaves open goes to the largest. Of equals, new pods go to the newest and old pods go first.
  const isGrowing = whole > wantedReplicas(running)
  const ranked = [...running].sort((a, b) => replicasOf(b) - replicasOf(a) || (isGrowing ? byAge(b, a) : byAge(a, b)))
  const portions = ranked.map((replicaSet) => ({
    size: replicasOf(replicaSet),
    whole: maxReplicas(replicaSet) ?? deployment.status?.replicas ?? 0,
  }))
  const sizes = apportion(portions, whole)
  return new Map(ranked.map((replicaSet, rank) => [replicaSet, sizes[rank]!]))
}
