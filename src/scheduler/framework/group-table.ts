import { type GroupColumns, NodeGroup } from './node-group.ts'

type Question = (node: number) => number

/** Room for the values of one question beside the number of the group so far. */
const STEP = 2 ** 32
const OFFSET = 2 ** 31

/** Finds the group of a node by its answers; groups are made as they are met. */
export class GroupTable {
  readonly groups: NodeGroup[] = []
  readonly #byNode: readonly Question[]
  readonly #byPods: readonly Question[]
  readonly #columns: GroupColumns
  /** The answers that depend on the node object alone, as one number per node. */
  readonly #fixed: Int32Array
  /** For each question: (number so far, answer) -> number. */
  readonly #steps: Map<number, number>[]
  readonly #byNumber: number[] = []

  constructor(byNode: readonly Question[], byPods: readonly Question[], capacity: number, columns: GroupColumns) {
    this.#byNode = byNode
    this.#byPods = byPods
    this.#columns = columns
    this.#fixed = new Int32Array(capacity)
    this.#steps = Array.from({ length: byNode.length + byPods.length }, () => new Map())
  }

  nodeChanged(node: number): void {
    let number = 0
    for (let q = 0; q < this.#byNode.length; q++) number = this.#step(q, number, this.#byNode[q]!(node))
    this.#fixed[node] = number
  }

  /** The place of the node's group. */
  find(node: number): number {
    let number = this.#fixed[node]!
    const first = this.#byNode.length
    for (let q = 0; q < this.#byPods.length; q++) number = this.#step(first + q, number, this.#byPods[q]!(node))
    const known = this.#byNumber[number]
    if (known !== undefined) return known
    const place = this.groups.push(new NodeGroup(this.#columns)) - 1
    this.#byNumber[number] = place
    return place
  }

  #step(question: number, number: number, answer: number): number {
    const steps = this.#steps[question]!
    const key = number * STEP + (answer + OFFSET)
    const known = steps.get(key)
    if (known !== undefined) return known
    steps.set(key, steps.size)
    return steps.size - 1
  }
}
