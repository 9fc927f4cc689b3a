import type { Node, Taint } from '../../api/generated/core-v1.ts'
import type { HostPort } from './pod-facts.ts'
import { amountOf } from './resource-amounts.ts'

/** The first resources have fixed places; others get theirs when they are first seen. */
export const CPU = 0
export const MEMORY = 1
export const PODS = 3
const FIXED = ['cpu', 'memory', 'ephemeral-storage', 'pods']

/** Nodes as columns of numbers. A node keeps its place while it or pods on it exist. */
export class NodeColumns {
  capacity = 64
  /** 1 where there is a node object. */
  present = new Uint8Array(this.capacity)
  readonly nodes: (Node | undefined)[] = []
  readonly names: (string | undefined)[] = []
  readonly taints: (readonly Taint[])[] = []
  readonly usedPorts: (HostPort[] | undefined)[] = []
  readonly resources: string[] = []
  readonly allocatable: Float64Array[] = []
  readonly requested: Float64Array[] = []
  nonZeroCpu = new Float64Array(this.capacity)
  nonZeroMemory = new Float64Array(this.capacity)
  count = 0
  readonly #places = new Map<string, number>()
  readonly #resourcePlaces = new Map<string, number>()
  readonly #free: number[] = []

  constructor() {
    for (const name of FIXED) this.resource(name)
  }

  /** The place of a resource's columns. */
  resource(name: string): number {
    const known = this.#resourcePlaces.get(name)
    if (known !== undefined) return known
    const place = this.resources.push(name) - 1
    this.#resourcePlaces.set(name, place)
    this.allocatable.push(new Float64Array(this.capacity))
    this.requested.push(new Float64Array(this.capacity))
    return place
  }

  /** Whether a resource is told of before another: those of every node first, then by name. */
  order(a: string, b: string): number {
    const fixed = (name: string) => (FIXED.includes(name) ? FIXED.indexOf(name) : FIXED.length)
    return fixed(a) - fixed(b) || (a < b ? -1 : 1)
  }

  find(name: string): number | undefined {
    return this.#places.get(name)
  }

  /** The place of a node, new or known; `grew` tells that every column has been replaced. */
  place(name: string): { place: number; grew: boolean } {
    const known = this.#places.get(name)
    if (known !== undefined) return { place: known, grew: false }
    const place = this.#free.pop() ?? this.names.length
    const grew = place >= this.capacity
    if (grew) this.#grow()
    this.names[place] = name
    this.taints[place] = []
    this.#places.set(name, place)
    return { place, grew }
  }

  free(place: number): void {
    this.#places.delete(this.names[place]!)
    this.names[place] = undefined
    this.usedPorts[place] = undefined
    this.#free.push(place)
  }

  setNode(place: number, node: Node): void {
    if (this.present[place] === 0) this.count++
    this.present[place] = 1
    this.nodes[place] = node
    this.taints[place] = node.spec?.taints ?? []
    const allocatable = node.status?.allocatable ?? {}
    for (const name in allocatable) this.resource(name)
    for (let r = 0; r < this.resources.length; r++) {
      const name = this.resources[r]!
      this.allocatable[r]![place] = Object.hasOwn(allocatable, name) ? amountOf(name, allocatable[name]!) : 0
    }
  }

  unsetNode(place: number): void {
    if (this.present[place] === 1) this.count--
    this.present[place] = 0
    this.nodes[place] = undefined
    this.taints[place] = []
    for (const column of this.allocatable) column[place] = 0
  }

  #grow(): void {
    this.capacity *= 2
    const grow = (column: Float64Array) => {
      const next = new Float64Array(this.capacity)
      next.set(column)
      return next
    }
    const present = new Uint8Array(this.capacity)
    present.set(this.present)
    this.present = present
    this.nonZeroCpu = grow(this.nonZeroCpu)
    this.nonZeroMemory = grow(this.nonZeroMemory)
    for (let r = 0; r < this.resources.length; r++) {
      this.allocatable[r] = grow(this.allocatable[r]!)
      this.requested[r] = grow(this.requested[r]!)
    }
  }
}
