const NODE_CHANGED = 1 << 30

/**
 * Which nodes have changed, in order. Every class of pods remembers how far it has read and looks only at the rest; one
 * that lags behind more than the log keeps starts anew.
 */
export class ChangeLog {
  #entries: Int32Array
  #mask: number
  end = 0

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
    this.#entries[this.end++ & this.#mask] = node | NODE_CHANGED
  }

  has(position: number): boolean {
    return this.end - position <= this.#entries.length
  }

  /** Calls for each entry since a position, oldest first. */
  since(position: number, visit: (node: number, nodeChanged: boolean) => void): void {
    for (let at = position; at < this.end; at++) {
      const entry = this.#entries[at & this.#mask]!
      visit(entry & ~NODE_CHANGED, (entry & NODE_CHANGED) !== 0)
    }
  }
}
