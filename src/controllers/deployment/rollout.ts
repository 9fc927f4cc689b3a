import type { Deployment, DeploymentStatus, ReplicaSet } from '../../api/generated/apps-v1.ts'
import { byRevision } from './revision.ts'

/** A Deployment and its ReplicaSets at one moment. */
export interface Rollout {
  readonly deployment: Deployment
  /** The one with the template of the Deployment, if it exists. */
  readonly newReplicaSet: ReplicaSet | undefined
  /** All others, the oldest first. */
  readonly oldReplicaSets: readonly ReplicaSet[]
}

export const allReplicaSets = ({ newReplicaSet, oldReplicaSets }: Rollout): readonly ReplicaSet[] =>
  newReplicaSet ? [...oldReplicaSets, newReplicaSet] : oldReplicaSets

export const replicasOf = (object: Deployment | ReplicaSet | undefined) => object?.spec?.replicas ?? 0
export const availableOf = (replicaSet: ReplicaSet | undefined) => replicaSet?.status?.availableReplicas ?? 0

export const wantedReplicas = (replicaSets: readonly ReplicaSet[]) => sum(replicaSets, replicasOf)
export const availableReplicas = (replicaSets: readonly ReplicaSet[]) => sum(replicaSets, availableOf)
export const isScaledUp = (replicaSet: ReplicaSet) => replicasOf(replicaSet) > 0

export function sum<T>(items: readonly T[], count: (item: T) => number | undefined): number {
  let total = 0
  for (const item of items) total += count(item) ?? 0
  return total
}

/** Everything is of the newest template, available, and nothing else is left. */
export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const wanted = replicasOf(deployment)
  return (
    (status.updatedReplicas ?? 0) === wanted &&
    (status.replicas ?? 0) === wanted &&
    (status.availableReplicas ?? 0) === wanted &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  )
}

/** Oldest first. Times are whole seconds: within one of them revisions decide. */
export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  const [left, right] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '']
  if (left !== right) return left < right ? -1 : 1
  return byRevision(a, b) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)
}
