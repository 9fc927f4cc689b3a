import type { ClusterState } from '../cache/cluster-state.ts'
import type { Rejection } from '../plugin.ts'
import { type CompiledRules, first } from './compiled-rules.ts'
import { Diagnosis } from './diagnosis.ts'
import { GroupTable } from './group-table.ts'
import type { NodeGroup } from './node-group.ts'
import type { ClassAnswers } from './shared-answers.ts'

/** Why a node will not do with the more important pods on it that it is promised to; `check` asks as if they were there. */
export type Promised = (node: number, check: () => Rejection | undefined) => Rejection | undefined

const ABSENT = -2
const REJECTED = -1
const MIN_BLOATED = 1000

/** What a class remembers of each node: its group and its own score, or why it will not do. */
export class ClassColumns {
  readonly scores: Int32Array
  readonly #rules: CompiledRules
  readonly #answers: ClassAnswers
  readonly #cluster: ClusterState
  readonly #promised: Promised
  /** The place of the node's group, REJECTED or ABSENT. */
  readonly #group: Int32Array
  /** By node: the place of its rejection; 0 if it is in a group. */
  readonly #rejection: Uint16Array
  readonly #table: GroupTable
  /** How many nodes each rejection keeps out. */
  readonly #rejectedNodes: number[] = [0]
  #read = -1

  constructor(rules: CompiledRules, answers: ClassAnswers, cluster: ClusterState, promised: Promised) {
    const { capacity } = cluster.columns
    this.#rules = rules
    this.#answers = answers
    this.#cluster = cluster
    this.#promised = promised
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
      for (let node = 0; node < columns.names.length; node++) this.#look(node)
    } else {
      const { nodes, count } = log.changedSince(this.#read, columns.names.length)
      for (let i = 0; i < count; i++) this.#look(nodes[i]!)
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

  #look(node: number): void {
    if (this.#cluster.columns.present[node] === 0) {
      this.#set(node, ABSENT, 0, 0)
      return
    }
    const { node: own, pods } = this.#answers
    const rejected = own.rejections[node]! || this.#besidePromised(node) || pods.rejections[node]!
    if (rejected > 0) this.#set(node, REJECTED, rejected, 0)
    else this.#set(node, this.#table.find(node, own.groups[node]!), 0, own.scores[node]! + pods.scores[node]!)
  }

  /** The place of the rejection of a node with the pods on it that it is promised to. */
  #besidePromised(node: number): number {
    const rejection = this.#promised(node, () => first(this.#rules.filterPods, node))
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
