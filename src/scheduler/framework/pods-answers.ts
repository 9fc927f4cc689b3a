import type { ClusterState } from '../cache/cluster-state.ts'
import { type CompiledRules, first } from './compiled-rules.ts'
import type { RejectionTable } from './rejection-table.ts'

/**
 * What plugins say of each node from the pods on it, for all classes that hear the same: those that ask for the same
 * resources, mostly. Asked again only about nodes that have changed.
 */
export class PodsAnswers {
  /** By node: the place of its rejection; 0 for none. */
  readonly rejections: Uint16Array
  readonly scores: Int32Array
  readonly #rules: CompiledRules
  readonly #cluster: ClusterState
  readonly #table: RejectionTable
  #read = -1

  constructor(rules: CompiledRules, cluster: ClusterState, table: RejectionTable) {
    const { capacity } = cluster.columns
    this.#rules = rules
    this.#cluster = cluster
    this.#table = table
    this.rejections = new Uint16Array(capacity)
    this.scores = new Int32Array(capacity)
  }

  refresh(): void {
    const { log, columns } = this.#cluster
    if (this.#read === log.end) return
    if (this.#read < 0 || !log.has(this.#read)) {
      for (let node = 0; node < columns.names.length; node++) this.#look(node)
    } else {
      const { nodes, count } = log.changedSince(this.#read, columns.names.length)
      for (let i = 0; i < count; i++) this.#look(nodes[i]!)
    }
    this.#read = log.end
  }

  #look(node: number): void {
    if (this.#cluster.columns.present[node] === 0) return
    const rejection = first(this.#rules.filterPods, node)
    if (rejection) {
      this.rejections[node] = this.#table.placeOf(rejection)
      return
    }
    this.rejections[node] = 0
    const { scorePods } = this.#rules
    let score = 0
    for (let s = 0; s < scorePods.length; s++) score += scorePods[s]!.weight * scorePods[s]!.score(node)
    this.scores[node] = score
  }
}
