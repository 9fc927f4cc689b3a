const NODE_CHANGED = 1 << 30

/**
 * Which nodes have changed, in order. Everyone who remembers something of nodes knows how far it has read and looks only
 * at the rest; one that lags behind more than the log keeps starts anew.
 */
export class ChangeLog {
  #entries: Int32Array
  #mask: number
  end = 0
  /** The place of the last entry about a node itself. */
  lastNodeChange = -1
  /** By node: the last round of `changedSince` that met it. */
  #met = new Int32Array(64)
  #round = 0
  #changed = new Int32Array(64)

  constructor(size = 1 << 15) {
    this.#entries = new Int32Array(size)
    this.#mask = size - 1
  }

  /** The pods on a node changed. */
  podsChanged(node: number): void {
    this.#entries[this.end++ & this.#mask] = node
  }

  /** The node itself changed. */
  nodeChanged(node: number): void {
    this.lastNodeChange = this.end
    this.#entries[this.end++ & this.#mask] = node | NODE_CHANGED
  }

  has(position: number): boolean {
    return this.end - position <= this.#entries.length
  }

  /** The node of an entry. */
  node(position: number): number {
    return this.#entries[position & this.#mask]! & ~NODE_CHANGED
  }

  /** Whether an entry says that the node itself changed. */
  isNodeChange(position: number): boolean {
    return (this.#entries[position & this.#mask]! & NODE_CHANGED) !== 0
  }

  /**
   * The nodes that changed since a position that the log still has, each once; many come in the order they lie in
   * memory. The list is the caller's until somebody asks again.
   */
  changedSince(position: number, nodeCount: number): { readonly nodes: Int32Array; readonly count: number } {
    if (this.#met.length < nodeCount) this.#reserve(nodeCount)
    const met = this.#met
    const round = ++this.#round
    const entries = this.#entries
    const nodes = this.#changed
    let count = 0
    for (let at = position; at < this.end; at++) {
      const node = entries[at & this.#mask]! & ~NODE_CHANGED
      if (met[node] === round) continue
      met[node] = round
      nodes[count++] = node
    }
    if (count <= nodeCount >> 3) return { nodes, count }
    count = 0
    for (let node = 0; node < nodeCount; node++) if (met[node] === round) nodes[count++] = node
    return { nodes, count }
  }

  #reserve(nodeCount: number): void {
    this.#met = new Int32Array(2 * nodeCount)
    this.#round = 0
    this.#changed = new Int32Array(2 * nodeCount)
  }
}
