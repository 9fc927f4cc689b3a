import type { Pod } from '../../api/generated/core-v1.ts'
import { reasonAgainst, type World } from '../framework/reference-reasons.contract.ts'

/** A budget as plain data: how many more of its pods may go. */
export interface PlainBudget {
  readonly namespace: string
  readonly app: string
  readonly allowed: number
}

/** Who would have to go on one node. */
export interface Sacrifice {
  readonly node: string
  readonly victims: readonly Pod[]
  readonly violations: number
}

const NO_REMOVAL_HELPS = [
  'unschedulable',
  'untolerated taint',
  'node affinity/selector',
  'missing required label',
  'pod affinity rules',
]

/** What preemption would do on each node where it helps: the rules of the documentation, applied literally. */
export function referencePreemption(world: World, pod: Pod, budgets: readonly PlainBudget[]): Sacrifice[] {
  return world.nodes.flatMap((object) => {
    const node = object.metadata.name!
    const reason = reasonAgainst(world, pod, object)
    if (!reason || NO_REMOVAL_HELPS.some((text) => reason.includes(text))) return []
    const lesser = world.pods.filter((one) => one.spec!.nodeName === node && priority(one) < priority(pod))
    if (lesser.length === 0) return []
    const victims = new Set(lesser)
    if (!fits(world, pod, node, victims)) return []
    const ordered = [...lesser].sort(moreImportantFirst)
    const guarded = guardedBy(budgets, ordered)
    const spare = (one: Pod) => {
      victims.delete(one)
      if (!fits(world, pod, node, victims)) victims.add(one)
    }
    for (const one of ordered) if (guarded.has(one)) spare(one)
    for (const one of ordered) if (!guarded.has(one)) spare(one)
    const left = ordered.filter((one) => victims.has(one))
    return [{ node, victims: left, violations: left.filter((one) => guarded.has(one)).length }]
  })
}

/** The sacrifice that hurts least: each line matters only where those above are equal. */
export function hurt({ victims, violations }: Sacrifice): readonly number[] {
  const priorities = victims.map(priority)
  const highest = Math.max(...priorities)
  const first = Math.min(...victims.filter((one) => priority(one) === highest).map(start))
  return [violations, highest, priorities.reduce((sum, one) => sum + one + 2 ** 31, 0), victims.length, -first]
}

export function fits(world: World, pod: Pod, node: string, without: ReadonlySet<Pod>): boolean {
  const pods = world.pods.filter((one) => !without.has(one))
  const object = world.nodes.find(({ metadata }) => metadata.name === node)!
  return reasonAgainst({ ...world, pods }, pod, object) === undefined
}

export const priority = (pod: Pod): number => pod.spec?.priority ?? 0
const start = (pod: Pod): number => Date.parse(pod.status!.startTime!)
const moreImportantFirst = (a: Pod, b: Pod) => priority(b) - priority(a) || start(a) - start(b)

function guardedBy(budgets: readonly PlainBudget[], pods: readonly Pod[]): Set<Pod> {
  const guarded = new Set<Pod>()
  for (const { namespace, app, allowed } of budgets) {
    const own = pods.filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.app === app)
    for (const pod of own.slice(allowed)) guarded.add(pod)
  }
  return guarded
}
