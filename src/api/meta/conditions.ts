/** One aspect of an object's state. Some kinds have more fields (lastProbeTime, lastUpdateTime); they are kept. */
export interface Condition {
  type: string
  status: string
  observedGeneration?: number
  lastTransitionTime?: string
  reason?: string
  message?: string
}

export function findCondition<C extends Condition>(conditions: readonly C[] | undefined, type: string): C | undefined {
  return conditions?.find((condition) => condition.type === type)
}

export const isConditionTrue = (conditions: readonly Condition[] | undefined, type: string) =>
  findCondition(conditions, type)?.status === 'True'

export const isConditionFalse = (conditions: readonly Condition[] | undefined, type: string) =>
  findCondition(conditions, type)?.status === 'False'

/**
 * Conditions with this one set, its transition time moved to `now` only if the status changed. The input is not
 * changed; if nothing would change, the same array comes back.
 */
export function withCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  condition: C,
  now: string,
): readonly C[] {
  const list = conditions ?? []
  const index = list.findIndex((known) => known.type === condition.type)
  const known = list[index]
  if (!known) return [...list, { ...condition, lastTransitionTime: condition.lastTransitionTime ?? now }]
  const lastTransitionTime =
    known.status === condition.status ? (known.lastTransitionTime ?? now) : (condition.lastTransitionTime ?? now)
  const next = { ...known, ...condition, lastTransitionTime }
  return sameCondition(known, next) ? list : list.with(index, next)
}

export function withoutCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): readonly C[] {
  const list = conditions ?? []
  return list.some((condition) => condition.type === type) ? list.filter((condition) => condition.type !== type) : list
}

function sameCondition(a: Condition, b: Condition): boolean {
  const fields = Object.keys(b) as (keyof Condition)[]
  return fields.every((field) => a[field] === b[field])
}
