import type { Random } from '../../base/random.ts'
import { type Attempt, rejectionAt } from '../framework/decision.ts'
import { type Diagnosis, histogram } from '../framework/diagnosis.ts'
import { Candidates, NOT_HELPFUL } from './candidates.ts'
import type { DisruptionBudgets } from './disruption-budgets.ts'
import { findVictims, hurtsLess, NO_VICTIMS, type Victims } from './victims.ts'

/** Where nothing can be remembered, a part of the nodes is enough, as long as it is not small. */
const MIN_CANDIDATES = 100
const CANDIDATE_SHARE = 0.1
const MAX_REMEMBERED_CLASSES = 64

export type PreemptionResult = { readonly victims: Victims } | { readonly message: string }

/** Chooses pods that have to make room for a more important one. Only chooses; `evict.ts` acts. */
export class Preemption {
  readonly #budgets: DisruptionBudgets
  readonly #random: Random
  /** What was found before for pods of the same class and priority. */
  readonly #remembered = new Map<string, Candidates>()

  constructor(budgets: DisruptionBudgets, random: Random) {
    this.#budgets = budgets
    this.#random = random
  }

  /** `isLeaving`: pods that are on their way out although their objects do not say so yet. */
  find(attempt: Attempt, diagnosis: Diagnosis, isLeaving: (uid: string) => boolean): PreemptionResult {
    const refusal = this.#whyNotEligible(attempt, isLeaving)
    if (refusal !== undefined) return { message: `preemption: ${refusal}` }
    if (!attempt.cluster.hasLesserPods(attempt.pod.facts.priority)) return { message: nobodyToPreempt(diagnosis) }
    const { best, reasons } = Candidates.suit(attempt) ? this.#remember(attempt) : this.#search(attempt)
    if (best) return { victims: best }
    const { count } = attempt.cluster.columns
    return { message: `preemption: 0/${count} nodes are available: ${histogram(reasons)}.` }
  }

  #whyNotEligible({ pod, cluster, nominated }: Attempt, isLeaving: (uid: string) => boolean): string | undefined {
    if (pod.facts.pod.spec?.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.'
    const node = nominated.nodeOf(pod.facts.uid)
    if (node === undefined) return undefined
    for (const { facts } of cluster.podsOn(node))
      if (facts.priority < pod.facts.priority && (facts.isTerminating || isLeaving(facts.uid)))
        return 'not eligible due to a terminating pod on the nominated node.'
    return undefined
  }

  /** Nodes that refused the pod for something that other pods there are to blame for. */
  #nodes(attempt: Attempt): { candidates: number[]; hopeless: number } {
    const { podClass, cluster, pod } = attempt
    if (pod.pinned) return this.#pinnedNodes(attempt, pod.pinned)
    podClass.diagnosis()
    const candidates: number[] = []
    let hopeless = 0
    for (const node of cluster.presentNodes()) {
      const rejection = podClass.rejectionOf(node) ?? rejectionAt(attempt, node)
      if (rejection?.resolvable) candidates.push(node)
      else hopeless++
    }
    return { candidates, hopeless }
  }

  #pinnedNodes(attempt: Attempt, pinned: ReadonlySet<string>): { candidates: number[]; hopeless: number } {
    const { columns } = attempt.cluster
    const candidates = [...pinned].flatMap((name) => {
      const node = columns.find(name)
      return node !== undefined && columns.present[node] === 1 && rejectionAt(attempt, node)?.resolvable ? [node] : []
    })
    return { candidates, hopeless: columns.count - candidates.length }
  }

  /** Where nothing can be remembered, nodes are tried in turn, from a random one on. */
  #search(attempt: Attempt): { best: Victims | undefined; reasons: Map<string, number> } {
    const { candidates, hopeless } = this.#nodes(attempt)
    const reasons = new Map<string, number>()
    if (hopeless > 0) reasons.set(NOT_HELPFUL, hopeless)
    const enough = Math.max(MIN_CANDIDATES, Math.floor(attempt.cluster.columns.count * CANDIDATE_SHARE))
    const offset = Math.floor(this.#random.next() * candidates.length)
    let best: Victims | undefined
    let found = 0
    for (let i = 0; i < candidates.length && found < enough; i++) {
      const victims = findVictims(attempt, candidates[(offset + i) % candidates.length]!, this.#budgets)
      if (typeof victims === 'string') reasons.set(victims, (reasons.get(victims) ?? 0) + 1)
      else {
        found++
        if (!best || hurtsLess(victims, best)) best = victims
      }
    }
    return { best, reasons }
  }

  #remember(attempt: Attempt): Candidates {
    const { pod, profile } = attempt
    const key = `${profile.schedulerName}|${pod.facts.priority}|${pod.signature}`
    const known = this.#remembered.get(key)
    if (known?.refresh(attempt)) return known
    const fresh = new Candidates(attempt, this.#budgets)
    this.#remembered.delete(key)
    this.#remembered.set(key, fresh)
    if (this.#remembered.size > MAX_REMEMBERED_CLASSES) this.#remembered.delete(this.#remembered.keys().next().value!)
    return fresh
  }
}

function nobodyToPreempt({ nodeCount, counts }: Diagnosis): string {
  const reasons = new Map<string, number>()
  let looked = 0
  for (const [{ resolvable }, nodes] of counts) {
    const reason = resolvable ? NO_VICTIMS : NOT_HELPFUL
    reasons.set(reason, (reasons.get(reason) ?? 0) + nodes)
    looked += nodes
  }
  if (looked < nodeCount) reasons.set(NOT_HELPFUL, (reasons.get(NOT_HELPFUL) ?? 0) + nodeCount - looked)
  return `preemption: 0/${nodeCount} nodes are available: ${histogram(reasons)}.`
}
