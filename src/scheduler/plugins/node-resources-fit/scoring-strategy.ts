import type { NodeColumns } from '../../cache/node-columns.ts'
import type { PodFacts } from '../../cache/pod-facts.ts'
import { MAX_SCORE } from '../../plugin.ts'

export interface ScoredResource {
  readonly name: string
  readonly weight?: number
}

export interface ScoringStrategy {
  readonly type?: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio'
  readonly resources?: readonly ScoredResource[]
  readonly requestedToCapacityRatio?: { readonly shape?: readonly ShapePoint[] }
}

/** Utilization in percent, score from 0 to 10. */
interface ShapePoint {
  readonly utilization: number
  readonly score: number
}

export const DEFAULT_RESOURCES: readonly ScoredResource[] = [{ name: 'cpu' }, { name: 'memory' }]

/** A column that a score looks at: what would be used with the pod, and what there is. */
export interface Usage {
  readonly amount: number
  readonly used: Float64Array
  readonly allocatable: Float64Array
  readonly weight: number
}

type ResourceScore = (used: number, allocatable: number) => number

const leastAllocated: ResourceScore = (used, allocatable) =>
  used > allocatable ? 0 : Math.floor(((allocatable - used) * MAX_SCORE) / allocatable)

const mostAllocated: ResourceScore = (used, allocatable) =>
  Math.floor((Math.min(used, allocatable) * MAX_SCORE) / allocatable)

export function strategyScore(
  strategy: ScoringStrategy | undefined,
  pod: PodFacts,
  columns: NodeColumns,
): (node: number) => number {
  const { type = 'LeastAllocated', resources = DEFAULT_RESOURCES } = strategy ?? {}
  const usages = usagesOf(resources, pod, columns, true)
  if (type === 'RequestedToCapacityRatio') {
    const byUtilization = shapeScore(strategy?.requestedToCapacityRatio?.shape ?? [])
    const score: ResourceScore = (used, allocatable) =>
      byUtilization(used > allocatable ? MAX_SCORE : Math.floor((used * MAX_SCORE) / allocatable))
    // Only resources that score count here, and the mean is rounded instead of cut.
    return weightedMean(usages, score, Math.round, true)
  }
  const [first, second] = usages
  if (type === 'LeastAllocated' && usages.length === 2 && first!.weight === second!.weight)
    return leastOfTwo(first!, second!)
  return weightedMean(usages, type === 'MostAllocated' ? mostAllocated : leastAllocated, Math.floor, false)
}

/** The default, spelled out: it is asked for every node that changes. */
function leastOfTwo(a: Usage, b: Usage): (node: number) => number {
  const { used: usedA, allocatable: hasA, amount: moreA } = a
  const { used: usedB, allocatable: hasB, amount: moreB } = b
  return (node) => {
    const mostA = hasA[node]!
    const mostB = hasB[node]!
    const leftA = mostA - usedA[node]! - moreA
    const leftB = mostB - usedB[node]! - moreB
    const scoreA = leftA <= 0 ? 0 : Math.floor((leftA * MAX_SCORE) / mostA)
    const scoreB = leftB <= 0 ? 0 : Math.floor((leftB * MAX_SCORE) / mostB)
    if (mostA === 0 || mostB === 0) return scoreA + scoreB
    return (scoreA + scoreB) >> 1
  }
}

/** Pods that ask for the same are scored the same. */
export const requestsKey = ({ requests, nonZero }: PodFacts): string =>
  JSON.stringify([[...requests].sort(([a], [b]) => (a < b ? -1 : 1)), nonZero.cpu, nonZero.memory])

/** `nonZero`: containers that ask for no CPU or memory are taken to use some. */
export function usagesOf(
  resources: readonly ScoredResource[],
  pod: PodFacts,
  columns: NodeColumns,
  nonZero: boolean,
): Usage[] {
  return resources.flatMap(({ name, weight = 1 }) => {
    const place = columns.resource(name)
    const allocatable = columns.allocatable[place]!
    if (nonZero && name === 'cpu') return [{ amount: pod.nonZero.cpu, used: columns.nonZeroCpu, allocatable, weight }]
    if (nonZero && name === 'memory')
      return [{ amount: pod.nonZero.memory, used: columns.nonZeroMemory, allocatable, weight }]
    const amount = pod.requests.get(name) ?? 0
    // A node is no better for having much of what the pod does not want.
    if (amount === 0 && isScalar(name)) return []
    return [{ amount, used: columns.requested[place]!, allocatable, weight }]
  })
}

const isScalar = (name: string) => name !== 'cpu' && name !== 'memory' && name !== 'ephemeral-storage'

function weightedMean(
  usages: readonly Usage[],
  score: ResourceScore,
  round: (mean: number) => number,
  onlyPositive: boolean,
): (node: number) => number {
  return (node) => {
    let sum = 0
    let weights = 0
    for (let u = 0; u < usages.length; u++) {
      const { amount, used, allocatable, weight } = usages[u]!
      const most = allocatable[node]!
      if (most === 0) continue
      const one = score(used[node]! + amount, most)
      if (onlyPositive && one <= 0) continue
      sum += one * weight
      weights += weight
    }
    return weights === 0 ? 0 : round(sum / weights)
  }
}

/** Straight lines between the points of a shape. */
function shapeScore(shape: readonly ShapePoint[]): (utilization: number) => number {
  const points = shape.map(({ utilization, score }) => ({ utilization, score: score * 10 }))
  return (utilization) => {
    for (let p = 0; p < points.length; p++) {
      const point = points[p]!
      if (utilization > point.utilization) continue
      if (p === 0) return point.score
      const before = points[p - 1]!
      const rise = (point.score - before.score) * (utilization - before.utilization)
      return before.score + Math.trunc(rise / (point.utilization - before.utilization))
    }
    return points.at(-1)?.score ?? 0
  }
}
