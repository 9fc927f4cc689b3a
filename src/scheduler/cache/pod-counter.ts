import type { PodProfile } from './pod-profile.ts'
import type { Topology } from './topology.ts'

export interface CounterScope {
  /** Equal for counters that count the same. */
  readonly signature: string
  readonly topology: Topology
  /** How often a pod like this counts: usually 0 or 1. */
  countOf(profile: PodProfile): number
  /** Nodes whose pods count; all if absent. Asked again when the node changes. */
  includes?(node: number): boolean
  /** Equal for scopes of one topology that include the same nodes. */
  readonly inclusion?: string
  readonly countsTerminating: boolean
}

/** How many pods of some sort there are in each value of a topology, kept current pod by pod. */
export class PodCounter {
  readonly scope: CounterScope
  readonly topology: Topology
  counts = new Int32Array(8)
  total = 0
  /** Whether a node's pods are counted. */
  readonly #included: Uint8Array
  /** How many included nodes each value has; a value with none is no domain. */
  #nodes = new Int32Array(8)
  /** How many domains have how many pods, so that the least is known without a walk. */
  readonly #domainsAt: number[] = [0]
  #domains = 0
  #least = 0

  constructor(scope: CounterScope, capacity: number) {
    this.scope = scope
    this.topology = scope.topology
    this.#included = new Uint8Array(capacity)
  }

  /** Pods in the domain of a node; 0 where it has none. */
  at(node: number): number {
    const value = this.topology.values[node]!
    return value < 0 ? 0 : (this.counts[value] ?? 0)
  }

  /** The least number of pods in any domain; 0 if there is none. */
  get least(): number {
    return this.#domains === 0 ? 0 : this.#least
  }

  get domains(): number {
    return this.#domains
  }

  includes(node: number): boolean {
    return this.#included[node] === 1
  }

  /** Takes over which nodes are included, and no pods. Only for one that counts nothing yet. */
  joinLike(other: PodCounter): void {
    this.#included.set(other.#included)
    this.#nodes = other.#nodes.slice()
    this.counts = new Int32Array(other.counts.length)
    this.#domains = other.#domains
    this.#domainsAt[0] = other.#domains
  }

  join(node: number): void {
    const value = this.topology.values[node]!
    if (value < 0 || (this.scope.includes && !this.scope.includes(node))) return
    this.#reserve(value)
    this.#included[node] = 1
    if (this.#nodes[value]!++ === 0) this.#domainAppears(this.counts[value]!)
  }

  /** All pods of the node have been taken off before. */
  leave(node: number): void {
    if (this.#included[node] === 0) return
    this.#included[node] = 0
    const value = this.topology.values[node]!
    if (--this.#nodes[value]! === 0) this.#domainVanishes(this.counts[value]!)
  }

  add(node: number, delta: number): void {
    if (this.#included[node] === 0) return
    const value = this.topology.values[node]!
    const old = this.counts[value]!
    const count = old + delta
    this.counts[value] = count
    this.total += delta
    this.#domainsAt[old]!--
    this.#domainsAt[count] = (this.#domainsAt[count] ?? 0) + 1
    if (count < this.#least) this.#least = count
    else this.#settleLeast()
  }

  #domainAppears(count: number): void {
    this.#domainsAt[count] = (this.#domainsAt[count] ?? 0) + 1
    if (this.#domains++ === 0 || count < this.#least) this.#least = count
  }

  #domainVanishes(count: number): void {
    this.#domainsAt[count]!--
    this.#domains--
    this.#settleLeast()
  }

  #settleLeast(): void {
    if (this.#domains === 0) return
    while (!this.#domainsAt[this.#least]) this.#least++
  }

  #reserve(value: number): void {
    if (value < this.counts.length) return
    const length = Math.max(value + 1, this.counts.length * 2)
    this.counts = grown(this.counts, length)
    this.#nodes = grown(this.#nodes, length)
  }
}

function grown(column: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const next = new Int32Array(length)
  next.set(column)
  return next
}
