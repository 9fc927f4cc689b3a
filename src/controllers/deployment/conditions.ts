import type { DeploymentCondition, DeploymentStatus } from '../../api/generated/apps-v1.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { formatTime } from '../../api/meta/time.ts'

export type Conditions = readonly DeploymentCondition[]

export const progressing = (status: DeploymentStatus | undefined) => findCondition(status?.conditions, 'Progressing')

/** With this condition, unless status and reason are as they were: then the old one stays, times and text included. */
export function withDeploymentCondition(
  conditions: Conditions | undefined,
  condition: Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>,
  now: number,
): Conditions {
  const known = findCondition(conditions, condition.type)
  if (known?.status === condition.status && known.reason === condition.reason) return conditions ?? []
  return renewed(conditions, condition, now)
}

/** With this condition, its update time moved to now in any case: the progress deadline counts from it. */
export function renewed(
  conditions: Conditions | undefined,
  condition: Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>,
  now: number,
): Conditions {
  const known = findCondition(conditions, condition.type)
  const time = formatTime(now)
  const lastTransitionTime = known?.status === condition.status ? (known.lastTransitionTime ?? time) : time
  const others = (conditions ?? []).filter((other) => other.type !== condition.type)
  return [...others, { ...condition, lastUpdateTime: time, lastTransitionTime }]
}
