import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'

export const REVISION = 'deployment.kubernetes.io/revision'

const MAX_INT64 = 2n ** 63n - 1n

/**
 * Counts the templates of a Deployment; a ReplicaSet has the number its template was last rolled out with. Anybody may
 * write the annotation, and clients read 64 bits of it.
 */
export function revisionOf(object: Deployment | ReplicaSet): bigint {
  const value = object.metadata.annotations?.[REVISION]
  if (value === undefined || !/^\d{1,19}$/.test(value)) return 0n
  const revision = BigInt(value)
  return revision <= MAX_INT64 ? revision : 0n
}

/** The number of what comes after all of these. */
export function nextRevision(replicaSets: readonly ReplicaSet[]): bigint {
  let newest = 0n
  for (const replicaSet of replicaSets) {
    const revision = revisionOf(replicaSet)
    if (revision > newest) newest = revision
  }
  return newest + 1n
}

export function byRevision(a: ReplicaSet, b: ReplicaSet): number {
  const [left, right] = [revisionOf(a), revisionOf(b)]
  return left < right ? -1 : left > right ? 1 : 0
}
