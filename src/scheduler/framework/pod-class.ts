import type { ClusterState } from '../cache/cluster-state.ts'
import type { PodFacts } from '../cache/pod-facts.ts'
import type { Rejection } from '../plugin.ts'
import { type CompiledRules, compileRules } from './compiled-rules.ts'
import { Diagnosis } from './diagnosis.ts'
import { GroupTable } from './group-table.ts'
import type { NodeGroup } from './node-group.ts'
import type { Profile } from './profile.ts'
import { scoreGroups } from './score-groups.ts'

const ABSENT = -2
const REJECTED = -1
const MIN_BLOATED = 1000

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
  /** Built at the first decision that asks for all nodes. */
  #columns: Columns | undefined

  constructor(profile: Profile, facts: PodFacts, cluster: ClusterState) {
    this.#cluster = cluster
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
  }

  /** Asks every filter about one node, as things are now. */
  check(node: number): Rejection | undefined {
    const { filterNode, filterPods, filterGroup, beginFilter } = this.rules
    for (const begin of beginFilter) begin()
    return first(filterNode, node) ?? first(filterPods, node) ?? first(filterGroup, node)
  }

  /** A node with the best score; undefined if none will do. */
  pick(): number | undefined {
    const columns = this.#refreshed()
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

  #refreshed(): Columns {
    if (!this.#columns || this.#columns.isBloated) this.#columns = new Columns(this.rules, this.#cluster)
    this.#columns.refresh()
    return this.#columns
  }
}

/** What is remembered of each node. */
class Columns {
  readonly scores: Int32Array
  readonly #rules: CompiledRules
  readonly #cluster: ClusterState
  /** The place of the node's group, REJECTED or ABSENT. */
  readonly #group: Int32Array
  /** By node: its place among the rejections; 0 if it is in a group. */
  readonly #rejection: Uint16Array
  readonly #fixedRejection: Uint16Array
  readonly #fixedScore: Int32Array
  readonly #table: GroupTable
  readonly #rejections: (Rejection | undefined)[] = [undefined]
  readonly #rejectionPlaces = new Map<Rejection, number>()
  /** How many nodes each rejection keeps out. */
  readonly #rejectedNodes: number[] = [0]
  readonly #visited: Int32Array
  #visit = 0
  #read = -1

  constructor(rules: CompiledRules, cluster: ClusterState) {
    const { capacity } = cluster.columns
    this.#rules = rules
    this.#cluster = cluster
    this.scores = new Int32Array(capacity)
    this.#group = new Int32Array(capacity).fill(ABSENT)
    this.#rejection = new Uint16Array(capacity)
    this.#fixedRejection = new Uint16Array(capacity)
    this.#fixedScore = new Int32Array(capacity)
    this.#visited = new Int32Array(capacity)
    const links = { scores: this.scores, next: new Int32Array(capacity), previous: new Int32Array(capacity) }
    this.#table = new GroupTable(rules.groupByNode, rules.groupByPods, capacity, links)
  }

  /** Groups that were met once and are empty now are many: starting anew is cheaper than walking over them. */
  get isBloated(): boolean {
    return this.#table.groups.length > MIN_BLOATED + 2 * this.#cluster.columns.count
  }

  refresh(): void {
    const { log, columns } = this.#cluster
    if (this.#read === log.end) return
    if (this.#read < 0 || !log.has(this.#read)) {
      for (let node = 0; node < columns.names.length; node++) this.#lookAgain(node, true)
    } else {
      this.#lookAtChanges()
    }
    this.#read = log.end
  }

  /** Many changes are first collected and then looked at in the order of the nodes, as they lie in memory. */
  #lookAtChanges(): void {
    const { log, columns } = this.#cluster
    const visit = ++this.#visit
    const visited = this.#visited
    const collects = log.end - this.#read > columns.names.length >> 3
    for (let at = this.#read; at < log.end; at++) {
      const node = log.node(at)
      const nodeChanged = log.isNodeChange(at)
      // What is read is how things are now: once is enough, unless the node itself is said to have changed.
      if (!nodeChanged && visited[node] === visit) continue
      visited[node] = visit
      if (nodeChanged || !collects) this.#lookAgain(node, nodeChanged)
    }
    if (!collects) return
    for (let node = 0; node < columns.names.length; node++) if (visited[node] === visit) this.#lookAgain(node, false)
  }

  filterGroups(): NodeGroup[] {
    const { filterGroup, beginFilter } = this.#rules
    for (const begin of beginFilter) begin()
    const passing: NodeGroup[] = []
    for (const group of this.#table.groups) {
      if (group.size === 0) continue
      group.rejection = first(filterGroup, group.top)
      if (!group.rejection) passing.push(group)
    }
    return passing
  }

  diagnosis(): Diagnosis {
    this.filterGroups()
    const counts = new Map<Rejection, number>()
    for (let place = 1; place < this.#rejections.length; place++) {
      const nodes = this.#rejectedNodes[place]!
      if (nodes > 0) counts.set(this.#rejections[place]!, nodes)
    }
    for (const { rejection, size } of this.#table.groups)
      if (rejection && size > 0) counts.set(rejection, (counts.get(rejection) ?? 0) + size)
    return new Diagnosis(this.#cluster.columns.count, counts)
  }

  rejectionOf(node: number): Rejection | undefined {
    const place = this.#group[node]!
    return place >= 0 ? this.#table.groups[place]!.rejection : this.#rejections[this.#rejection[node]!]
  }

  #lookAgain(node: number, nodeChanged: boolean): void {
    if (this.#cluster.columns.present[node] === 0) {
      this.#set(node, ABSENT, 0, 0)
      return
    }
    if (nodeChanged) this.#lookAtNode(node)
    const rejected = this.#fixedRejection[node]! || this.#rejectionByPods(node)
    if (rejected > 0) this.#set(node, REJECTED, rejected, 0)
    else this.#set(node, this.#table.find(node), 0, this.#score(node))
  }

  #rejectionByPods(node: number): number {
    const rejection = first(this.#rules.filterPods, node)
    return rejection ? this.#placeOf(rejection) : 0
  }

  #score(node: number): number {
    let score = this.#fixedScore[node]!
    const { scorePods } = this.#rules
    for (let s = 0; s < scorePods.length; s++) score += scorePods[s]!.weight * scorePods[s]!.score(node)
    return score
  }

  #lookAtNode(node: number): void {
    const rejection = first(this.#rules.filterNode, node)
    this.#fixedRejection[node] = rejection ? this.#placeOf(rejection) : 0
    if (rejection) return
    let score = 0
    for (const each of this.#rules.scoreNode) score += each.weight * each.score(node)
    this.#fixedScore[node] = score
    this.#table.nodeChanged(node)
  }

  #set(node: number, group: number, rejection: number, score: number): void {
    const { groups } = this.#table
    const oldGroup = this.#group[node]!
    const oldRejection = this.#rejection[node]!
    if (oldRejection !== rejection) {
      this.#rejectedNodes[oldRejection]!--
      this.#rejectedNodes[rejection]!++
      this.#rejection[node] = rejection
    }
    if (oldGroup === group) {
      if (group < 0 || this.scores[node] === score) return
      groups[group]!.update(node, score)
      return
    }
    if (oldGroup >= 0) groups[oldGroup]!.remove(node)
    this.scores[node] = score
    this.#group[node] = group
    if (group >= 0) groups[group]!.add(node)
  }

  #placeOf(rejection: Rejection): number {
    const known = this.#rejectionPlaces.get(rejection)
    if (known !== undefined) return known
    const place = this.#rejections.push(rejection) - 1
    this.#rejectionPlaces.set(rejection, place)
    this.#rejectedNodes[place] = 0
    return place
  }
}

function first(filters: readonly ((node: number) => Rejection | undefined)[], node: number): Rejection | undefined {
  for (let f = 0; f < filters.length; f++) {
    const rejection = filters[f]!(node)
    if (rejection) return rejection
  }
  return undefined
}
