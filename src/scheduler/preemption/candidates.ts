import { type Attempt, isAsked, rejectionAt } from '../framework/decision.ts'
import { PriorityHeap } from '../queue/priority-heap.ts'
import type { DisruptionBudgets } from './disruption-budgets.ts'
import { findVictims, hurtsLess, type Victims } from './victims.ts'

export const NOT_HELPFUL = 'Preemption is not helpful for scheduling'

/** Why a node is none, or who would have to go. */
type Outcome = Victims | string

/**
 * What preemption would do on each node for the pods of one class and priority, the node where it hurts least on top.
 * Looks again only at nodes that have changed.
 */
export class Candidates {
  readonly #byNode = new Map<number, Outcome>()
  readonly #best = new PriorityHeap<Victims>(hurtsLess)
  readonly #reasons = new Map<string, number>()
  readonly #budgets: DisruptionBudgets
  readonly #budgetsVersion: number
  #read: number

  constructor(attempt: Attempt, budgets: DisruptionBudgets) {
    this.#budgets = budgets
    this.#budgetsVersion = budgets.version
    this.#read = attempt.cluster.log.end
    attempt.podClass.diagnosis()
    for (const node of attempt.cluster.presentNodes()) this.#look(attempt, node)
  }

  /** What happens on one node is all that matters to most pods: then what was found there stays true. */
  static suit({ pod, podClass, nominated, profile }: Attempt): boolean {
    if (podClass.rules.filterGroup.length > 0 || pod.pinned || pod.facts.claims.length > 0) return false
    if (nominated.nodeOf(pod.facts.uid) !== undefined) return false
    return !profile.plugins.some(({ plugin }) => isAsked(plugin, pod.facts.pod))
  }

  /** False if too much has changed since. */
  refresh(attempt: Attempt): boolean {
    const { log } = attempt.cluster
    if (this.#budgets.version !== this.#budgetsVersion || !log.has(this.#read)) return false
    if (this.#read === log.end) return true
    const changed = new Set<number>()
    for (let at = this.#read; at < log.end; at++) changed.add(log.node(at))
    this.#read = log.end
    attempt.podClass.diagnosis()
    for (const node of changed) this.#look(attempt, node)
    return true
  }

  get best(): Victims | undefined {
    return this.#best.top
  }

  /** How many nodes are none, by reason. */
  get reasons(): ReadonlyMap<string, number> {
    return this.#reasons
  }

  #look(attempt: Attempt, node: number): void {
    this.#forget(node)
    if (attempt.cluster.columns.present[node] === 0) return
    const outcome = outcomeOn(attempt, node, this.#budgets)
    this.#byNode.set(node, outcome)
    if (typeof outcome !== 'string') this.#best.push(outcome)
    else this.#reasons.set(outcome, (this.#reasons.get(outcome) ?? 0) + 1)
  }

  #forget(node: number): void {
    const known = this.#byNode.get(node)
    if (known === undefined) return
    this.#byNode.delete(node)
    if (typeof known !== 'string') {
      this.#best.remove(known)
      return
    }
    const left = this.#reasons.get(known)! - 1
    if (left > 0) this.#reasons.set(known, left)
    else this.#reasons.delete(known)
  }
}

/** Only nodes that refused the pod for something that other pods there are to blame for can be made to fit. */
function outcomeOn(attempt: Attempt, node: number, budgets: DisruptionBudgets): Outcome {
  const rejection = attempt.podClass.rejectionOf(node) ?? rejectionAt(attempt, node)
  return rejection?.resolvable ? findVictims(attempt, node, budgets) : NOT_HELPFUL
}
