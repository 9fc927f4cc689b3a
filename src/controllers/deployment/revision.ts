import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'

export const REVISION = 'deployment.kubernetes.io/revision'

/** Counts the templates of a Deployment; a ReplicaSet has the number its template was last rolled out with. */
export function revisionOf(object: Deployment | ReplicaSet): number {
  const value = object.metadata.annotations?.[REVISION]
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : 0
}
