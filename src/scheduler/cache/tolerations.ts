import type { Taint, Toleration } from '../../api/generated/core-v1.ts'

/** An empty effect tolerates all effects, an empty key with Exists all taints. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  if (toleration.operator === 'Exists') return true
  return Boolean(toleration.key) && (toleration.value ?? '') === (taint.value ?? '')
}

export const isTolerated = (taint: Taint, tolerations: readonly Toleration[]): boolean =>
  tolerations.some((toleration) => tolerates(toleration, taint))

export const isHard = (taint: Taint): boolean => taint.effect === 'NoSchedule' || taint.effect === 'NoExecute'

export const hasUntoleratedTaint = (taints: readonly Taint[], tolerations: readonly Toleration[]): boolean =>
  taints.some((taint) => isHard(taint) && !isTolerated(taint, tolerations))
