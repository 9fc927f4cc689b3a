import type { PodSpec, ResourceRequirements } from '../../../generated/core-v1.ts'
import { addQuantities, compareQuantities, isNegative, isZero, type Quantity } from '../../../meta/quantity.ts'
import { quantityIn } from './resources.ts'

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort'

const COMPUTE = ['cpu', 'memory'] as const
type Totals = Map<string, Quantity>

/**
 * How a pod is treated when its node runs short: `Guaranteed` asks for exactly its limits of cpu and memory,
 * `BestEffort` asks for nothing, all others are `Burstable`. Resources of the pod as a whole replace its containers'.
 */
export function qosClass(spec: PodSpec): QosClass {
  const lists = hasCompute(spec.resources)
    ? [spec.resources]
    : [...spec.containers, ...(spec.initContainers ?? [])].map((container) => container.resources)
  const requests: Totals = new Map()
  const limits: Totals = new Map()
  let allLimited = true
  for (const resources of lists) {
    addPositive(requests, resources?.requests)
    if (addPositive(limits, resources?.limits) < COMPUTE.length) allLimited = false
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort'
  return allLimited && sameTotals(requests, limits) ? 'Guaranteed' : 'Burstable'
}

const hasCompute = (resources: ResourceRequirements | undefined) =>
  Object.keys(resources?.requests ?? {}).length + Object.keys(resources?.limits ?? {}).length > 0

/** Returns how many of cpu and memory were there. */
function addPositive(totals: Totals, list: Record<string, string | number> | undefined): number {
  let found = 0
  for (const name of COMPUTE) {
    const quantity = quantityIn(list, name)
    if (!quantity || isZero(quantity) || isNegative(quantity)) continue
    found++
    const known = totals.get(name)
    totals.set(name, known ? addQuantities(known, quantity) : quantity)
  }
  return found
}

function sameTotals(requests: Totals, limits: Totals): boolean {
  if (requests.size !== limits.size) return false
  for (const [name, limit] of limits) {
    const request = requests.get(name)
    if (!request || compareQuantities(request, limit) !== 0) return false
  }
  return true
}
