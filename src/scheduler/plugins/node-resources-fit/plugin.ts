import type { NodeColumns } from '../../cache/node-columns.ts'
import { PODS } from '../../cache/node-columns.ts'
import type { Rejection, SchedulerPlugin } from '../../plugin.ts'
import { requestsKey, type ScoringStrategy, strategyScore } from './scoring-strategy.ts'

/** One rejection per set of missing resources. */
const rejections = new Map<string, Rejection>()

function insufficient(names: readonly string[], resolvable: boolean): Rejection {
  const key = `${resolvable}|${names.join('|')}`
  const known = rejections.get(key)
  if (known) return known
  const reasons = names.map((name) => (name === 'pods' ? 'Too many pods' : `Insufficient ${name}`))
  const rejection: Rejection = { plugin: 'NodeResourcesFit', reasons, resolvable }
  rejections.set(key, rejection)
  return rejection
}

interface Demand {
  readonly amount: number
  readonly allocatable: Float64Array
  readonly requested: Float64Array
  readonly name: string
}

/** The pods of a node must not ask for more than it has; by default emptier nodes are better. */
export const nodeResourcesFit: SchedulerPlugin = {
  name: 'NodeResourcesFit',
  retryOn: ['NodeAdd', 'NodeUpdate', 'PodDelete', 'PodUpdate'],
  forClass(pod, { columns }, args) {
    const wanted = [...pod.requests].filter(([, amount]) => amount > 0).sort(([a], [b]) => columns.order(a, b))
    const demands = [demand(columns, 'pods', 1), ...wanted.map(([name, amount]) => demand(columns, name, amount))]
    return {
      podsKey: requestsKey(pod),
      filterPods: fits(demands),
      scorePods: strategyScore(args.scoringStrategy as ScoringStrategy | undefined, pod, columns),
    }
  },
}

/** Most pods ask for a place, CPU and memory: spelled out, because this is asked more often than anything else. */
function fits(demands: readonly Demand[]): (node: number) => Rejection | undefined {
  const [a, b, c] = demands
  if (demands.length !== 3 || !a || !b || !c)
    return (node) => (demands.some((one) => isShort(one, node)) ? missing(demands, node) : undefined)
  const { requested: usedA, allocatable: hasA, amount: moreA } = a
  const { requested: usedB, allocatable: hasB, amount: moreB } = b
  const { requested: usedC, allocatable: hasC, amount: moreC } = c
  return (node) =>
    usedA[node]! + moreA > hasA[node]! || usedB[node]! + moreB > hasB[node]! || usedC[node]! + moreC > hasC[node]!
      ? missing(demands, node)
      : undefined
}

const isShort = ({ amount, allocatable, requested }: Demand, node: number) =>
  requested[node]! + amount > allocatable[node]!

function demand(columns: NodeColumns, name: string, amount: number): Demand {
  const place = name === 'pods' ? PODS : columns.resource(name)
  return { amount, name, allocatable: columns.allocatable[place]!, requested: columns.requested[place]! }
}

function missing(demands: readonly Demand[], node: number): Rejection {
  const short = demands.filter((one) => isShort(one, node))
  // More than the whole node has: no victim could help.
  const resolvable = short.every(({ name, amount, allocatable }) => name === 'pods' || amount <= allocatable[node]!)
  return insufficient(
    short.map(({ name }) => name),
    resolvable,
  )
}
