import type { Taint, Toleration } from '../../api/generated/core-v1.ts'

/** Whether a toleration speaks of this taint. An empty key tolerates every taint, an empty effect every effect. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  switch (toleration.operator || 'Equal') {
    case 'Exists':
      return true
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '')
    case 'Gt':
      return compareNumbers(taint.value, toleration.value, (a, b) => a > b)
    case 'Lt':
      return compareNumbers(taint.value, toleration.value, (a, b) => a < b)
    default:
      return false
  }
}

function compareNumbers(a: string | undefined, b: string | undefined, holds: (a: bigint, b: bigint) => boolean) {
  return /^-?\d+$/.test(a ?? '') && /^-?\d+$/.test(b ?? '') && holds(BigInt(a!), BigInt(b!))
}

/** Milliseconds a pod may stay with these taints: 0 not at all, Infinity as long as it likes. */
export function toleratedTime(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  let shortest = Number.POSITIVE_INFINITY
  for (const taint of taints) {
    const matching = tolerations.filter((toleration) => tolerates(toleration, taint))
    if (matching.length === 0) return 0
    for (const { tolerationSeconds } of matching)
      if (tolerationSeconds !== undefined) shortest = Math.min(shortest, Math.max(0, tolerationSeconds * 1000))
  }
  return shortest
}
