import type { Deployment, DeploymentStatus } from '../../api/generated/apps-v1.ts'
import { withoutCondition } from '../../api/meta/conditions.ts'
import { parseTime } from '../../api/meta/time.ts'
import { type Conditions, progressing, renewed, withDeploymentCondition } from './conditions.ts'
import { isComplete, type Rollout } from './rollout.ts'

/** The largest int32: how users say that a rollout may take for ever. */
const NO_DEADLINE = 2_147_483_647

export function hasProgressDeadline(deployment: Deployment): boolean {
  const deadline = deployment.spec?.progressDeadlineSeconds
  return deadline !== undefined && deadline !== NO_DEADLINE
}

/** The conditions of `status` with a judgement of how the rollout goes: done, going on, or stuck. */
export function progressConditions(rollout: Rollout, status: DeploymentStatus, now: number): Conditions {
  const { deployment, newReplicaSet } = rollout
  const conditions = status.conditions ?? []
  if (!hasProgressDeadline(deployment)) return withoutCondition(conditions, 'Progressing')
  const current = progressing(deployment.status)
  // Pods of a finished rollout may come and go: that is no rollout.
  const wasComplete = (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && isDone(current?.reason)
  if (wasComplete) return conditions
  const subject = newReplicaSet
    ? `ReplicaSet ${JSON.stringify(newReplicaSet.metadata.name)}`
    : `Deployment ${JSON.stringify(deployment.metadata.name)}`
  if (isComplete(deployment, status))
    return withDeploymentCondition(
      conditions,
      condition('True', 'NewReplicaSetAvailable', `${subject} has successfully progressed.`),
      now,
    )
  if (hasProgressed(deployment, status))
    return renewed(conditions, condition('True', 'ReplicaSetUpdated', `${subject} is progressing.`), now)
  if (hasTimedOut(deployment, now))
    return withDeploymentCondition(
      conditions,
      condition('False', 'ProgressDeadlineExceeded', `${subject} has timed out progressing.`),
      now,
    )
  return conditions
}

/** Milliseconds until the deadline may pass without any event to tell it; undefined if none is running. */
export function untilDeadline(deployment: Deployment, now: number): number | undefined {
  const current = progressing(deployment.status)
  if (!hasProgressDeadline(deployment) || !current || isComplete(deployment, deployment.status ?? {})) return undefined
  if (isDone(current.reason) || current.reason === 'ProgressDeadlineExceeded') return undefined
  return Math.max(0, deadlineOf(deployment) - now) + 1000
}

const condition = (status: string, reason: string, message: string) => ({
  type: 'Progressing',
  status,
  reason,
  message,
})

const isDone = (reason: string | undefined) => reason === 'NewReplicaSetAvailable'

function hasProgressed({ status: old = {} }: Deployment, status: DeploymentStatus): boolean {
  const outdated = (one: DeploymentStatus) => (one.replicas ?? 0) - (one.updatedReplicas ?? 0)
  return (
    (status.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    outdated(status) < outdated(old) ||
    (status.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  )
}

function hasTimedOut(deployment: Deployment, now: number): boolean {
  const current = progressing(deployment.status)
  if (!current || isDone(current.reason)) return false
  return current.reason === 'ProgressDeadlineExceeded' || deadlineOf(deployment) < now
}

function deadlineOf(deployment: Deployment): number {
  const since = parseTime(progressing(deployment.status)?.lastUpdateTime ?? '') ?? 0
  return since + (deployment.spec?.progressDeadlineSeconds ?? 0) * 1000
}
