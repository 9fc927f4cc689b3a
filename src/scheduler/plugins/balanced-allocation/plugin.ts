import { MAX_SCORE, type SchedulerPlugin } from '../../plugin.ts'
import {
  DEFAULT_RESOURCES,
  requestsKey,
  type ScoredResource,
  type Usage,
  usagesOf,
} from '../node-resources-fit/scoring-strategy.ts'

/** Prefers nodes on which CPU and memory would be used to the same degree, so that neither is left over. */
export const balancedAllocation: SchedulerPlugin = {
  name: 'NodeResourcesBalancedAllocation',
  forClass(pod, { columns }, args) {
    const resources = (args.resources as readonly ScoredResource[] | undefined) ?? DEFAULT_RESOURCES
    // Pods that ask for nothing would all go to the same node.
    if (resources.every(({ name }) => !pod.requests.get(name))) return undefined
    const podsKey = requestsKey(pod)
    const usages = usagesOf(resources, pod, columns, false)
    const [first, second] = usages
    if (usages.length === 2 && first && second) return { podsKey, scorePods: balanceOfTwo(first, second) }
    return { podsKey, scorePods: (node) => balance(usages, node) }
  },
}

function balanceOfTwo(a: Usage, b: Usage): (node: number) => number {
  const { used: usedA, allocatable: hasA, amount: moreA } = a
  const { used: usedB, allocatable: hasB, amount: moreB } = b
  return (node) => {
    if (hasA[node] === 0 || hasB[node] === 0) return MAX_SCORE
    const fractionA = (usedA[node]! + moreA) / hasA[node]!
    const fractionB = (usedB[node]! + moreB) / hasB[node]!
    const difference = Math.min(1, fractionA) - Math.min(1, fractionB)
    return Math.trunc((1 - Math.abs(difference) / 2) * MAX_SCORE)
  }
}

function balance(usages: readonly Usage[], node: number): number {
  const fractions: number[] = []
  for (const { used, amount, allocatable } of usages)
    if (allocatable[node]! > 0) fractions.push(Math.min(1, (used[node]! + amount) / allocatable[node]!))
  return Math.trunc((1 - deviation(fractions)) * MAX_SCORE)
}

function deviation(fractions: readonly number[]): number {
  if (fractions.length < 2) return 0
  if (fractions.length === 2) return Math.abs((fractions[0]! - fractions[1]!) / 2)
  const mean = fractions.reduce((sum, one) => sum + one, 0) / fractions.length
  return Math.sqrt(fractions.reduce((sum, one) => sum + (one - mean) * (one - mean), 0) / fractions.length)
}
