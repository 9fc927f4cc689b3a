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
  /** By node: the place of its last entry. */
  #last = new Float64Array(64).fill(-1)
  #changed = new Int32Array(64)

  constructor(size = 1 << 15) {
    this.#entries = new Int32Array(size)
    this.#mask = size - 1
  }

  /** The pods on a node changed. */
  podsChanged(node: number): void {
    this.#append(node, node)
  }

  /** The node itself changed. */
  nodeChanged(node: number): void {
    this.lastNodeChange = this.end
    this.#append(node, node | NODE_CHANGED)
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
    const last = this.#last
    const nodes = this.#changed
    let count = 0
    if (this.end - position > nodeCount >> 3) {
      for (let node = 0; node < nodeCount; node++) if (last[node]! >= position) nodes[count++] = node
    } else {
      for (let at = position; at < this.end; at++) {
        const node = this.node(at)
        if (last[node] === at) nodes[count++] = node
      }
    }
    return { nodes, count }
  }

  #append(node: number, entry: number): void {
    if (node >= this.#last.length) this.#reserve(node + 1)
    this.#last[node] = this.end
    this.#entries[this.end++ & this.#mask] = entry
  }

  #reserve(nodeCount: number): void {
    const last = new Float64Array(2 * nodeCount).fill(-1)
    last.set(this.#last)
    this.#last = last
    this.#changed = new Int32Array(2 * nodeCount)
  }
}
