import { type GroupColumns, NodeGroup } from './node-group.ts'
import { Steps } from './steps.ts'

/** Finds the group of a node by what it has in common with others; groups are made as they are met. */
export class GroupTable {
  readonly groups: NodeGroup[] = []
  readonly #byPods: readonly ((node: number) => number)[]
  readonly #columns: GroupColumns
  readonly #steps: readonly Steps[]
  readonly #byNumber: number[] = []

  constructor(byPods: readonly ((node: number) => number)[], columns: GroupColumns) {
    this.#byPods = byPods
    this.#columns = columns
    this.#steps = byPods.map(() => new Steps())
  }

  /** The place of the node's group, given the number of those that are like it as node objects. */
  find(node: number, alike: number): number {
    let number = alike
    const byPods = this.#byPods
    for (let q = 0; q < byPods.length; q++) number = this.#steps[q]!.next(number, byPods[q]!(node))
    return this.#byNumber[number] ?? this.#add(number)
  }

  #add(number: number): number {
    const place = this.groups.push(new NodeGroup(this.#columns)) - 1
    this.#byNumber[number] = place
    return place
  }
}
