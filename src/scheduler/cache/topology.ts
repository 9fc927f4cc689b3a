import { LABEL } from '../../api/meta/well-known.ts'

export const HOSTNAME_KEY = LABEL.hostname
export const ZONE_KEY = LABEL.zone

/** Not a label: every node is its own place. */
export const NODE_NAME_KEY = 'metadata.name'

/** One label key of nodes as a column: which of its values each node has, as a small number; -1 for none. */
export class Topology {
  readonly key: string
  values: Int32Array
  readonly #ids = new Map<string, number>()
  readonly #names: (string | undefined)[] = []
  readonly #members: number[][] = []
  readonly #free: number[] = []

  constructor(key: string, capacity: number) {
    this.key = key
    this.values = new Int32Array(capacity).fill(-1)
  }

  /** Values are below this number. */
  get size(): number {
    return this.#members.length
  }

  /** The nodes that have a value. */
  members(value: number): readonly number[] {
    return this.#members[value]!
  }

  grow(capacity: number): void {
    const values = new Int32Array(capacity).fill(-1)
    values.set(this.values)
    this.values = values
  }

  assign(node: number, name: string | undefined): void {
    const old = this.values[node]!
    if (old >= 0 && this.#names[old] === name) return
    if (old >= 0) this.#leave(node, old)
    if (name === undefined) {
      this.values[node] = -1
      return
    }
    const value = this.#ids.get(name) ?? this.#newValue(name)
    this.#members[value]!.push(node)
    this.values[node] = value
  }

  /** A value that no node has any more gives its number back: no pod can be counted at it. */
  #leave(node: number, value: number): void {
    const members = this.#members[value]!
    members.splice(members.indexOf(node), 1)
    if (members.length > 0) return
    this.#ids.delete(this.#names[value]!)
    this.#names[value] = undefined
    this.#free.push(value)
  }

  #newValue(name: string): number {
    const value = this.#free.pop() ?? this.#members.length
    this.#ids.set(name, value)
    this.#names[value] = name
    this.#members[value] ??= []
    return value
  }
}
