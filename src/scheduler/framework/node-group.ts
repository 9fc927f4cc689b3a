import type { Rejection } from '../plugin.ts'

/**
 * Nodes that answer alike to everything that is asked of groups, as a heap: the one with the best own score, and among
 * equals the first, is on top.
 */
export class NodeGroup {
  /** Set by the last round of filters. */
  rejection: Rejection | undefined
  /** What the last round of scores added to each node of the group. */
  total = 0
  /** Scores of the last round by plugin, before they were normalised. */
  readonly raw: number[] = []
  readonly nodes: number[] = []
  readonly #scores: Int32Array
  readonly #positions: Int32Array

  constructor(scores: Int32Array, positions: Int32Array) {
    this.#scores = scores
    this.#positions = positions
  }

  get size(): number {
    return this.nodes.length
  }

  /** Any node can answer for the group; the top is at hand. */
  get node(): number {
    return this.nodes[0]!
  }

  get top(): number {
    return this.nodes[0]!
  }

  add(node: number): void {
    this.nodes.push(node)
    this.#up(this.nodes.length - 1, node)
  }

  remove(node: number): void {
    const at = this.#positions[node]!
    const last = this.nodes.pop()!
    if (last !== node) this.#move(at, last)
  }

  /** After the score of a node has changed. */
  update(node: number): void {
    this.#move(this.#positions[node]!, node)
  }

  #move(at: number, node: number): void {
    if (at > 0 && this.#before(node, this.nodes[(at - 1) >> 1]!)) this.#up(at, node)
    else this.#down(at, node)
  }

  #before(a: number, b: number): boolean {
    const difference = this.#scores[a]! - this.#scores[b]!
    return difference > 0 || (difference === 0 && a < b)
  }

  #up(from: number, node: number): void {
    const nodes = this.nodes
    const positions = this.#positions
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      const other = nodes[parent]!
      if (!this.#before(node, other)) break
      nodes[at] = other
      positions[other] = at
      at = parent
    }
    nodes[at] = node
    positions[node] = at
  }

  #down(from: number, node: number): void {
    const nodes = this.nodes
    const scores = this.#scores
    const positions = this.#positions
    const { length } = nodes
    const score = scores[node]!
    let at = from
    for (;;) {
      let child = 2 * at + 1
      if (child >= length) break
      let other = nodes[child]!
      let best = scores[other]!
      if (child + 1 < length) {
        const right = nodes[child + 1]!
        const ofRight = scores[right]!
        if (ofRight > best || (ofRight === best && right < other)) {
          child++
          other = right
          best = ofRight
        }
      }
      if (best < score || (best === score && node < other)) break
      nodes[at] = other
      positions[other] = at
      at = child
    }
    nodes[at] = node
    positions[node] = at
  }
}
