import type { PodCondition, PodStatus } from '../../api/generated/core-v1.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { RESIZE_CONDITIONS } from './pod-conditions.ts'

/** Lists that the strategic merge would combine element by element where the whole is meant. */
const MERGED_BY_KEY = new Set(['podIPs', 'hostIPs'])

/**
 * The strategic merge patch that turns one status into the other, or undefined if they are equal. Conditions are sent
 * one by one, so that those which others write at the same time stay.
 */
export function statusPatch(from: PodStatus, to: PodStatus): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {}
  const fields = new Set([...Object.keys(from), ...Object.keys(to)]) as Set<keyof PodStatus>
  for (const field of fields) {
    if (deepEqual(from[field], to[field])) continue
    if (field === 'conditions') {
      const conditions = changedConditions(from.conditions ?? [], to.conditions ?? [])
      if (conditions.length > 0) patch.conditions = conditions
    } else if (to[field] === undefined) patch[field] = null
    else if (MERGED_BY_KEY.has(field)) patch[field] = [...(to[field] as object[]), { $patch: 'replace' }]
    else patch[field] = to[field]
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}

function changedConditions(from: readonly PodCondition[], to: readonly PodCondition[]): Record<string, unknown>[] {
  const isOver = ({ type }: PodCondition) => RESIZE_CONDITIONS.includes(type) && !to.some((one) => one.type === type)
  const over = from.filter(isOver).map(({ type }) => ({ type, $patch: 'delete' }))
  const changed = to.flatMap((condition) => {
    const known = from.find(({ type }) => type === condition.type)
    if (deepEqual(known, condition)) return []
    const gone = Object.keys(known ?? {}).filter((field) => condition[field as keyof PodCondition] === undefined)
    return [{ ...Object.fromEntries(gone.map((field) => [field, null])), ...condition }]
  })
  return [...changed, ...over]
}
