import type { Rejection } from '../plugin.ts'

/** Columns that all groups of a class share: a node is in one group at a time. */
export interface GroupColumns {
  /** Each node's own score. */
  readonly scores: Int32Array
  /** The neighbours of each node among the nodes of its group with the same score; -1 at the ends. */
  readonly next: Int32Array
  readonly previous: Int32Array
}

const NONE = -1

/**
 * Nodes that answer alike to everything that is asked of groups, in one list per own score: the best is at hand, and
 * a node whose score changes moves in constant time.
 */
export class NodeGroup {
  /** Set by the last round of filters. */
  rejection: Rejection | undefined
  /** What the last round of scores added to each node of the group. */
  total = 0
  /** Scores of the last round by plugin, before they were normalised. */
  readonly raw: number[] = []
  size = 0
  readonly #columns: GroupColumns
  /** The first node with each score. */
  #heads = new Int32Array(16).fill(NONE)
  #best = NONE

  constructor(columns: GroupColumns) {
    this.#columns = columns
  }

  /** Any node can answer for the group. */
  get node(): number {
    return this.top
  }

  /** A node with the best own score. */
  get top(): number {
    return this.#heads[this.#best]!
  }

  add(node: number): void {
    this.#link(node)
    this.size++
  }

  remove(node: number): void {
    this.#unlink(node)
    this.size--
  }

  /** Gives a node of the group another own score. */
  update(node: number, score: number): void {
    this.#unlink(node)
    this.#columns.scores[node] = score
    this.#link(node)
  }

  *members(): Iterable<number> {
    const { next } = this.#columns
    for (let score = this.#best; score >= 0; score--)
      for (let node = this.#heads[score]!; node !== NONE; node = next[node]!) yield node
  }

  #link(node: number): void {
    const { scores, next, previous } = this.#columns
    const score = scores[node]!
    if (score >= this.#heads.length) this.#grow(score)
    const head = this.#heads[score]!
    next[node] = head
    previous[node] = NONE
    if (head !== NONE) previous[head] = node
    this.#heads[score] = node
    if (score > this.#best) this.#best = score
  }

  #unlink(node: number): void {
    const { scores, next, previous } = this.#columns
    const score = scores[node]!
    const after = next[node]!
    const before = previous[node]!
    if (after !== NONE) previous[after] = before
    if (before !== NONE) {
      next[before] = after
      return
    }
    this.#heads[score] = after
    if (after === NONE && score === this.#best) this.#settleBest()
  }

  #settleBest(): void {
    let best = this.#best
    while (best >= 0 && this.#heads[best] === NONE) best--
    this.#best = best
  }

  #grow(score: number): void {
    const heads = new Int32Array(Math.max(score + 1, this.#heads.length * 2)).fill(NONE)
    heads.set(this.#heads)
    this.#heads = heads
  }
}
