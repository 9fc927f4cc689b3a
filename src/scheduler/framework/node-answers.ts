import type { ClusterState } from '../cache/cluster-state.ts'
import { type CompiledRules, first } from './compiled-rules.ts'
import type { RejectionTable } from './rejection-table.ts'
import { Steps } from './steps.ts'

/**
 * What plugins say of each node from the node object alone, for all classes that hear the same. Asked again only about
 * nodes that have changed.
 */
export class NodeAnswers {
  /** By node: the place of its rejection; 0 for none. */
  readonly rejections: Uint16Array
  readonly scores: Int32Array
  /** Equal for nodes that answer alike to all that groups go by. */
  readonly groups: Int32Array
  readonly #rules: CompiledRules
  readonly #cluster: ClusterState
  readonly #table: RejectionTable
  readonly #steps: readonly Steps[]
  #read = -1

  constructor(rules: CompiledRules, cluster: ClusterState, table: RejectionTable) {
    const { capacity } = cluster.columns
    this.#rules = rules
    this.#cluster = cluster
    this.#table = table
    this.#steps = rules.groupByNode.map(() => new Steps())
    this.rejections = new Uint16Array(capacity)
    this.scores = new Int32Array(capacity)
    this.groups = new Int32Array(capacity)
  }

  refresh(): void {
    const { log, columns } = this.#cluster
    if (this.#read < 0 || (this.#read <= log.lastNodeChange && !log.has(this.#read))) {
      for (let node = 0; node < columns.names.length; node++) this.#look(node)
    } else {
      for (let at = this.#read; at <= log.lastNodeChange; at++) if (log.isNodeChange(at)) this.#look(log.node(at))
    }
    this.#read = log.end
  }

  #look(node: number): void {
    if (this.#cluster.columns.present[node] === 0) return
    const { filterNode, scoreNode, groupByNode } = this.#rules
    const rejection = first(filterNode, node)
    this.rejections[node] = this.#table.placeOf(rejection)
    if (rejection) return
    let score = 0
    for (const each of scoreNode) score += each.weight * each.score(node)
    this.scores[node] = score
    let group = 0
    for (let q = 0; q < groupByNode.length; q++) group = this.#steps[q]!.next(group, groupByNode[q]!(node))
    this.groups[node] = group
  }
}
