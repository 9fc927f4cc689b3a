import type { PlacedPod } from '../cache/cluster-state.ts'
import { type Attempt, rejectionAt } from '../framework/decision.ts'
import type { DisruptionBudgets } from './disruption-budgets.ts'

/** The pods that would have to go so that a pod fits on a node. */
export interface Victims {
  readonly node: number
  readonly pods: readonly PlacedPod[]
  readonly violations: number
  readonly highestPriority: number
  readonly prioritySum: number
  /** When the first of the most important victims started. */
  readonly earliestStart: string
}

export const NO_VICTIMS = 'No preemption victims found for incoming pod'

/**
 * Tries it: takes off every lesser pod, then lets each come back that the newcomer leaves room for, the most important
 * ones first, and before them those whose end would break a budget. A text says why it does not help.
 */
export function findVictims(attempt: Attempt, node: number, budgets: DisruptionBudgets): Victims | string {
  const { cluster, pod } = attempt
  const lesser = [...cluster.podsOn(node)].filter(({ facts }) => facts.priority < pod.facts.priority)
  if (lesser.length === 0) return NO_VICTIMS
  return cluster.trial(() => {
    const off = new Set<PlacedPod>()
    const take = (placed: PlacedPod) => {
      cluster.take(placed)
      off.add(placed)
    }
    const put = (placed: PlacedPod) => {
      cluster.put(placed)
      off.delete(placed)
    }
    try {
      for (const placed of lesser) take(placed)
      const rejection = rejectionAt(attempt, node)
      if (rejection) return rejection.reasons.join(', ')
      lesser.sort(moreImportantFirst)
      const violating = budgets.violating(lesser)
      let violations = 0
      const spare = (placed: PlacedPod) => {
        put(placed)
        if (!rejectionAt(attempt, node)) return true
        take(placed)
        return false
      }
      for (const placed of lesser) if (violating.has(placed) && !spare(placed)) violations++
      for (const placed of lesser) if (!violating.has(placed)) spare(placed)
      return summary(
        node,
        lesser.filter((placed) => off.has(placed)),
        violations,
      )
    } finally {
      for (const placed of [...off]) put(placed)
    }
  })
}

function summary(node: number, pods: readonly PlacedPod[], violations: number): Victims {
  const highestPriority = pods[0]?.facts.priority ?? Number.NEGATIVE_INFINITY
  const important = pods.filter(({ facts }) => facts.priority === highestPriority).map(startOf)
  return {
    node,
    pods,
    violations,
    highestPriority,
    // Each victim weighs something, also one of negative priority.
    prioritySum: pods.reduce((sum, { facts }) => sum + facts.priority + 2 ** 31, 0),
    earliestStart: important.sort()[0] ?? '',
  }
}

const startOf = ({ facts }: PlacedPod) => facts.pod.status?.startTime ?? '9999'

function moreImportantFirst(a: PlacedPod, b: PlacedPod): number {
  if (a.facts.priority !== b.facts.priority) return b.facts.priority - a.facts.priority
  const [startA, startB] = [startOf(a), startOf(b)]
  return startA < startB ? -1 : startA > startB ? 1 : 0
}

/** Whether one choice hurts less than another: the rules in order, the first difference decides. */
export function hurtsLess(a: Victims, b: Victims): boolean {
  if (a.violations !== b.violations) return a.violations < b.violations
  if (a.highestPriority !== b.highestPriority) return a.highestPriority < b.highestPriority
  if (a.prioritySum !== b.prioritySum) return a.prioritySum < b.prioritySum
  if (a.pods.length !== b.pods.length) return a.pods.length < b.pods.length
  if (a.earliestStart !== b.earliestStart) return a.earliestStart > b.earliestStart
  return a.node < b.node
}
