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

  /** The node of an entry. */
  node(position: number): number {
    return this.#entries[position & this.#mask]! & ~NODE_CHANGED
  }

  /** Whether an entry says that the node itself changed. */
  isNodeChange(position: number): boolean {
    return (this.#entries[position & this.#mask]! & NODE_CHANGED) !== 0
  }
}
