import type { ClusterState } from '../cache/cluster-state.ts'
import type { PodFacts } from '../cache/pod-facts.ts'
import type { Rejection } from '../plugin.ts'
import { ClassColumns } from './class-columns.ts'
import { type CompiledRules, compileRules, first } from './compiled-rules.ts'
import type { Diagnosis } from './diagnosis.ts'
import type { NodeGroup } from './node-group.ts'
import type { NominatedPods } from './nominated-pods.ts'
import type { Profile } from './profile.ts'
import { scoreGroups } from './score-groups.ts'
import type { ClassAnswers, SharedAnswers } from './shared-answers.ts'

/** What classes are made from. */
export interface ClassSources {
  readonly cluster: ClusterState
  readonly shared: SharedAnswers
  readonly nominated: NominatedPods
}

/**
 * Pods that are alike to every plugin. Remembers for each node whether it would do and how good it is, and looks again
 * only at nodes that have changed since the last pod of the class. Exact: every node counts, always.
 *
 * Nodes that passed the filters stand in groups; a decision walks over the groups and takes the top of the best one.
 */
export class PodClass {
  readonly facts: PodFacts
  readonly rules: CompiledRules
  readonly #cluster: ClusterState
  readonly #stamp: number
  readonly #carriedSeen: number
  readonly #shared: SharedAnswers
  readonly #nominated: NominatedPods
  #answers: ClassAnswers | undefined
  /** Built at the first decision that asks for all nodes. */
  #columns: ClassColumns | undefined

  constructor(profile: Profile, facts: PodFacts, { cluster, shared, nominated }: ClassSources) {
    this.#cluster = cluster
    this.#nominated = nominated
    this.#shared = shared
    this.facts = facts
    // The terms that its own pods will carry are known before the first of them is placed.
    cluster.counts.profileOf(facts)
    this.rules = compileRules(profile, facts, cluster)
    this.#stamp = this.rules.stamp()
    this.#carriedSeen = cluster.counts.carried.length
  }

  /** Whether what the plugins said at the start still holds; `concerns` tells of terms that appeared since. */
  isCurrent(concerns: (carried: ClusterState['counts']['carried'][number], facts: PodFacts) => boolean): boolean {
    if (this.rules.stamp() !== this.#stamp) return false
    const { carried } = this.#cluster.counts
    for (let i = this.#carriedSeen; i < carried.length; i++) if (concerns(carried[i]!, this.facts)) return false
    return true
  }

  /** The class is no longer used: nobody has to count for it. */
  release(): void {
    for (const { rules } of this.rules.all) rules.release?.()
    this.#answers?.release()
    this.#answers = undefined
  }

  /** Asks every filter about one node, as things are now. */
  check(node: number): Rejection | undefined {
    const { filterNode, filterPods, filterGroup, beginFilter } = this.rules
    for (const begin of beginFilter) begin()
    return first(filterNode, node) ?? first(filterPods, node) ?? first(filterGroup, node)
  }

  /** A node with the best score; undefined if none will do. */
  pick(): number | undefined {
    return this.#pickFrom(this.#refreshed())
  }

  /** The same, as if some nodes were not there. */
  pickWithout(nodes: readonly number[]): number | undefined {
    const columns = this.#refreshed()
    return columns.without(nodes, () => this.#pickFrom(columns))
  }

  #pickFrom(columns: ClassColumns): number | undefined {
    const passing = columns.filterGroups()
    if (passing.length === 0) return undefined
    scoreGroups(this.rules.scoreGroup, passing)
    let best = -1
    let bestScore = Number.NEGATIVE_INFINITY
    for (const group of passing) {
      const node = group.top
      const score = group.total + columns.scores[node]!
      if (score > bestScore || (score === bestScore && node < best)) {
        best = node
        bestScore = score
      }
    }
    return best
  }

  isFeasible(): boolean {
    return this.#refreshed().filterGroups().length > 0
  }

  /** Groups with nodes that pass every filter, current until the next change. */
  passingGroups(): readonly NodeGroup[] {
    return this.#refreshed().filterGroups()
  }

  /** The part of a node's score that is its own, after `passingGroups`. */
  ownScore(node: number): number {
    return this.#columns!.scores[node]!
  }

  /** Why the nodes that do not pass do not. */
  diagnosis(): Diagnosis {
    return this.#refreshed().diagnosis()
  }

  /** Why one node does not pass, after `passingGroups` or `diagnosis`. */
  rejectionOf(node: number): Rejection | undefined {
    return this.#columns!.rejectionOf(node)
  }

  #refreshed(): ClassColumns {
    this.#answers ??= this.#shared.for(this.rules)
    if (!this.#columns || this.#columns.isBloated)
      this.#columns = new ClassColumns(this.rules, this.#answers, this.#nominated, this.facts.priority)
    this.#columns.refresh()
    return this.#columns
  }
}
