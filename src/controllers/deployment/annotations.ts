import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import { maxSurge } from './limits.ts'
import { REVISION, revisionOf } from './revision.ts'
import { replicasOf } from './rollout.ts'

const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history'
const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas'
const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas'

/** What of a Deployment's annotations says nothing about its ReplicaSets. */
const NOT_COPIED = new Set([
  ANNOTATION.lastApplied,
  'deprecated.deployment.rollback.to',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
])

/** Characters that the list of former revisions may grow to. */
const MAX_HISTORY = 2000

type Annotations = Readonly<Record<string, string>>

function numberIn(replicaSet: ReplicaSet, annotation: string): number | undefined {
  const value = replicaSet.metadata.annotations?.[annotation]
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined
}

/** How many pods the Deployment wanted when it last sized this ReplicaSet. */
export const desiredReplicas = (replicaSet: ReplicaSet) => numberIn(replicaSet, DESIRED_REPLICAS)
export const maxReplicas = (replicaSet: ReplicaSet) => numberIn(replicaSet, MAX_REPLICAS)

/** Sizes are remembered with the wish they came from: only so can a later change of the wish be noticed. */
export function sizeAnnotations(deployment: Deployment): Annotations {
  const replicas = replicasOf(deployment)
  return { [DESIRED_REPLICAS]: String(replicas), [MAX_REPLICAS]: String(replicas + maxSurge(deployment)) }
}

/** Annotations of a ReplicaSet that is created for `deployment` now. */
export function initialAnnotations(deployment: Deployment, revision: bigint): Annotations {
  return { ...copied(deployment), [REVISION]: String(revision), ...sizeAnnotations(deployment) }
}

/** Annotations that the newest ReplicaSet should have: those of the Deployment, and the newest revision. */
export function currentAnnotations(deployment: Deployment, replicaSet: ReplicaSet, revision: bigint): Annotations {
  const annotations: Record<string, string> = { ...replicaSet.metadata.annotations, ...copied(deployment) }
  const former = annotations[REVISION]
  if (revisionOf(replicaSet) >= revision) return annotations
  annotations[REVISION] = String(revision)
  if (former) annotations[REVISION_HISTORY] = withRevision(annotations[REVISION_HISTORY], former)
  return annotations
}

function withRevision(history: string | undefined, revision: string): string {
  const revisions = history ? history.split(',') : []
  revisions.push(revision)
  while (revisions.length > 1 && revisions.join(',').length > MAX_HISTORY) revisions.shift()
  return revisions.join(',')
}

function copied(deployment: Deployment): Annotations {
  const entries = Object.entries(deployment.metadata.annotations ?? {})
  return Object.fromEntries(entries.filter(([key]) => !NOT_COPIED.has(key)))
}
