import type { ReplicaSet } from '../../api/generated/apps-v1.ts'
import { minAvailable, newReplicaSetSize } from './limits.ts'
import { allReplicaSets, availableOf, availableReplicas, type Rollout, replicasOf, wantedReplicas } from './rollout.ts'

/** New sizes of ReplicaSets; those that are not named keep theirs. */
export type Sizes = ReadonlyMap<ReplicaSet, number>

/**
 * The next step of a rolling update: up with the newest ReplicaSet while there is room for a surge, else down with
 * the old ones while enough pods stay available. No sizes mean that there is nothing to do now.
 */
export function rollingUpdateStep(rollout: Rollout): Sizes {
  const up = newSize(rollout)
  return up.size > 0 ? up : oldSizes(rollout)
}

function newSize(rollout: Rollout): Sizes {
  const { deployment, newReplicaSet } = rollout
  if (!newReplicaSet) return new Map()
  const wanted = replicasOf(deployment)
  const current = replicasOf(newReplicaSet)
  const size = current > wanted ? wanted : newReplicaSetSize(deployment, allReplicaSets(rollout), newReplicaSet)
  return size === current ? new Map() : new Map([[newReplicaSet, size]])
}

function oldSizes(rollout: Rollout): Sizes {
  const { deployment, newReplicaSet, oldReplicaSets } = rollout
  const all = allReplicaSets(rollout)
  if (wantedReplicas(oldReplicaSets) === 0) return new Map()
  const newUnavailable = replicasOf(newReplicaSet) - availableOf(newReplicaSet)
  const room = wantedReplicas(all) - minAvailable(deployment) - newUnavailable
  if (room <= 0) return new Map()
  const sizes = new Map<ReplicaSet, number>()
  dropUnhealthy(oldReplicaSets, room, sizes)
  // What is not available cannot be missed; only available pods count for the rest.
  dropAvailable(oldReplicaSets, availableReplicas(all) - minAvailable(deployment), sizes)
  return sizes
}

/** Pods that are not available go first: they help nobody and may block the rollout for ever. */
function dropUnhealthy(old: readonly ReplicaSet[], room: number, sizes: Map<ReplicaSet, number>): void {
  let left = room
  for (const replicaSet of old) {
    const unhealthy = replicasOf(replicaSet) - availableOf(replicaSet)
    const dropped = Math.min(left, unhealthy)
    if (dropped <= 0) continue
    sizes.set(replicaSet, replicasOf(replicaSet) - dropped)
    left -= dropped
  }
}

function dropAvailable(old: readonly ReplicaSet[], room: number, sizes: Map<ReplicaSet, number>): void {
  let left = room
  for (const replicaSet of old) {
    if (left <= 0) return
    const current = sizes.get(replicaSet) ?? replicasOf(replicaSet)
    const dropped = Math.min(left, current)
    if (dropped === 0) continue
    sizes.set(replicaSet, current - dropped)
    left -= dropped
  }
}
