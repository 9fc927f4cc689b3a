import type { ClusterState } from '../cache/cluster-state.ts'
import type { Rejection } from '../plugin.ts'
import { type CompiledRules, first } from './compiled-rules.ts'
import { Diagnosis } from './diagnosis.ts'
import { GroupTable } from './group-table.ts'
import type { NodeGroup } from './node-group.ts'
import type { NominatedPods } from './nominated-pods.ts'
import type { ClassAnswers } from './shared-answers.ts'

const ABSENT = -2
const REJECTED = -1
const MIN_BLOATED = 1000

/** What a class remembers of each node: its group and its own score, or why it will not do. */
export class ClassColumns {
  readonly scores: Int32Array
  readonly #rules: CompiledRules
  readonly #answers: ClassAnswers
  readonly #cluster: ClusterState
  readonly #nominated: NominatedPods
  readonly #priority: number
  /** The place of the node's group, REJECTED or ABSENT. */
  readonly #group: Int32Array
  /** By node: the place of its rejection; 0 if it is in a group. */
  readonly #rejection: Uint16Array
  readonly #table: GroupTable
  /** How many nodes each rejection keeps out. */
  readonly #rejectedNodes: number[] = [0]
  #read = -1

  /** `priority`: that of the pods of the class. */
  constructor(rules: CompiledRules, answers: ClassAnswers, nominated: NominatedPods, priority: number) {
    const { cluster } = nominated
    const { capacity } = cluster.columns
    this.#rules = rules
    this.#answers = answers
    this.#cluster = cluster
    this.#nominated = nominated
    this.#priority = priority
    this.scores = new Int32Array(capacity)
    this.#group = new Int32Array(capacity).fill(ABSENT)
    this.#rejection = new Uint16Array(capacity)
    const links = { scores: this.scores, next: new Int32Array(capacity), previous: new Int32Array(capacity) }
    this.#table = new GroupTable(rules.groupByPods, links)
  }

  /** Groups that were met once and are empty now are many: starting anew is cheaper than walking over them. */
  get isBloated(): boolean {
    return this.#table.groups.length > MIN_BLOATED + 2 * this.#cluster.columns.count
  }

  refresh(): void {
    const { log, columns } = this.#cluster
    if (this.#read === log.end) return
    this.#answers.node.refresh()
    this.#answers.pods.refresh()
    if (this.#read < 0 || !log.has(this.#read)) {
      this.#lookAt(undefined, columns.names.length)
    } else {
      const { nodes, count } = log.changedSince(this.#read, columns.names.length)
      this.#lookAt(nodes, count)
    }
    this.#read = log.end
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
    for (let place = 1; place < this.#rejectedNodes.length; place++) {
      const nodes = this.#rejectedNodes[place] ?? 0
      if (nodes > 0) counts.set(this.#answers.rejections.at(place)!, nodes)
    }
    for (const { rejection, size } of this.#table.groups)
      if (rejection && size > 0) counts.set(rejection, (counts.get(rejection) ?? 0) + size)
    return new Diagnosis(this.#cluster.columns.count, counts)
  }

  rejectionOf(node: number): Rejection | undefined {
    const place = this.#group[node]!
    return place >= 0 ? this.#table.groups[place]!.rejection : this.#answers.rejections.at(this.#rejection[node]!)
  }

  #lookAt(nodes: Int32Array | undefined, count: number): void {
    const { present } = this.#cluster.columns
    const { node: own, pods } = this.#answers
    const [ownRejections, podsRejections] = [own.rejections, pods.rejections]
    const [ownScores, podsScores] = [own.scores, pods.scores]
    const { groups: alike } = own
    const scores = this.scores
    const group = this.#group
    const rejections = this.#rejection
    const table = this.#table
    const isPromised = this.#nominated.size > 0
    for (let i = 0; i < count; i++) {
      const node = nodes ? nodes[i]! : i
      if (present[node] === 0) {
        this.#set(node, ABSENT, 0, 0)
        continue
      }
      const rejected = ownRejections[node]! || (isPromised && this.#besidePromised(node)) || podsRejections[node]!
      if (rejected > 0) {
        if (rejections[node] !== rejected || group[node] !== REJECTED) this.#set(node, REJECTED, rejected, 0)
        continue
      }
      const place = table.find(node, alike[node]!)
      const score = ownScores[node]! + podsScores[node]!
      if (group[node] !== place || scores[node] !== score) this.#set(node, place, 0, score)
    }
  }

  /** The place of the rejection of a node with the pods on it that it is promised to. One of the class that waits for
   * this very node has been refused there before others are looked at. */
  #besidePromised(node: number): number {
    const before = { uid: '', priority: this.#priority }
    const rejection = this.#nominated.rejectionWith(before, node, () => first(this.#rules.filterPods, node))
    return rejection ? this.#answers.rejections.placeOf(rejection) : 0
  }

  /** Calls `work` as if these nodes were not there. */
  without<T>(nodes: readonly number[], work: () => T): T {
    const { groups } = this.#table
    const left = nodes.filter((node) => this.#group[node]! >= 0)
    for (const node of left) groups[this.#group[node]!]!.remove(node)
    try {
      return work()
    } finally {
      for (const node of left) groups[this.#group[node]!]!.add(node)
    }
  }

  #set(node: number, group: number, rejection: number, score: number): void {
    const { groups } = this.#table
    const oldGroup = this.#group[node]!
    const oldRejection = this.#rejection[node]!
    if (oldRejection !== rejection) {
      this.#rejectedNodes[oldRejection]!--
      this.#rejectedNodes[rejection] = (this.#rejectedNodes[rejection] ?? 0) + 1
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
}
