import type { Deployment, DeploymentStatus } from '../../api/generated/apps-v1.ts'
import { findCondition, withoutCondition } from '../../api/meta/conditions.ts'
import { type Conditions, withDeploymentCondition } from './conditions.ts'
import { minAvailable } from './limits.ts'
import { progressConditions } from './progress.ts'
import { allReplicaSets, availableReplicas, type Rollout, sum, wantedReplicas } from './rollout.ts'

/** The status that the ReplicaSets amount to, without a judgement of progress. */
export function countedStatus(rollout: Rollout, now: number): DeploymentStatus {
  const { deployment, newReplicaSet } = rollout
  const { collisionCount, conditions } = deployment.status ?? {}
  const all = allReplicaSets(rollout)
  const available = availableReplicas(all)
  const counts = {
    replicas: sum(all, ({ status }) => status?.replicas),
    updatedReplicas: newReplicaSet?.status?.replicas ?? 0,
    readyReplicas: sum(all, ({ status }) => status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, wantedReplicas(all) - available),
  }
  return {
    ...(deployment.metadata.generation && { observedGeneration: deployment.metadata.generation }),
    ...withoutZeros(counts),
    terminatingReplicas: sum(all, ({ status }) => status?.terminatingReplicas),
    ...(collisionCount !== undefined && { collisionCount }),
    ...listed(withAvailability(deployment, conditions, available, now)),
  }
}

/** The whole status during a rollout. */
export function rolloutStatus(rollout: Rollout, now: number): DeploymentStatus {
  const counted = countedStatus(rollout, now)
  const conditions = withReplicaFailure(rollout, progressConditions(rollout, counted, now), now)
  const { conditions: _, ...counts } = counted
  return { ...counts, ...listed(conditions) }
}

export const listed = (conditions: Conditions) => (conditions.length > 0 ? { conditions: [...conditions] } : {})

function withAvailability(
  deployment: Deployment,
  conditions: Conditions | undefined,
  available: number,
  now: number,
): Conditions {
  const isEnough = available >= minAvailable(deployment)
  const condition = isEnough
    ? { status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
    : {
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      }
  return withDeploymentCondition(conditions, { type: 'Available', ...condition }, now)
}

/** What keeps a ReplicaSet from creating its pods; the newest one's trouble matters most. */
function withReplicaFailure(rollout: Rollout, conditions: Conditions, now: number): Conditions {
  const candidates = rollout.newReplicaSet ? [rollout.newReplicaSet, ...rollout.oldReplicaSets] : rollout.oldReplicaSets
  for (const { status } of candidates) {
    const failure = findCondition(status?.conditions, 'ReplicaFailure')
    if (!failure) continue
    const { status: state, reason = '', message = '' } = failure
    return withDeploymentCondition(conditions, { type: 'ReplicaFailure', status: state, reason, message }, now)
  }
  return withoutCondition(conditions, 'ReplicaFailure')
}

/** Counts of zero are left out, as the API does. */
function withoutZeros<C extends Record<string, number>>(counts: C): Partial<C> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<C>
}
