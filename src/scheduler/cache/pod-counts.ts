import type { Selector } from '../../api/meta/label-selector.ts'
import { type CounterScope, PodCounter } from './pod-counter.ts'
import type { PodFacts } from './pod-facts.ts'
import { newProfile, type OwnedTerm, type PodProfile, profileKey } from './pod-profile.ts'
import type { Topology } from './topology.ts'

/** A term some pod on a node carries, and where the pods are that do. */
export interface CarriedTerm extends OwnedTerm {
  readonly counter: PodCounter
}

/** Unused counters are only cleared away when they are many: the next class may want them again. */
const MAX_UNUSED = 200

/** All pods on nodes by profile, and every counter over them. */
export class PodCounts {
  readonly #profiles = new Map<string, PodProfile>()
  readonly #counters = new Map<string, { readonly counter: PodCounter; users: number }>()
  readonly #carried = new Map<string, CarriedTerm>()
  /** A counter in use for each topology and inclusion. */
  readonly #byInclusion = new Map<string, PodCounter>()
  readonly #topology: (key: string) => Topology
  readonly #nodes: () => Iterable<number>
  readonly #capacity: () => number
  #unused = 0
  #sweepAt = 1000
  /** Whether any selector looks at the labels of namespaces. */
  usesNamespaceLabels = false
  /** Carried terms in the order they appeared: a class that has seen the first n asks only for the rest. */
  readonly carried: CarriedTerm[] = []
  /** The label keys that any selector asks for. Only these make pods different. */
  readonly labelKeys = new Set<string>()

  constructor(topology: (key: string) => Topology, nodes: () => Iterable<number>, capacity: () => number) {
    this.#topology = topology
    this.#nodes = nodes
    this.#capacity = capacity
  }

  profileOf(facts: PodFacts): PodProfile {
    const key = profileKey(facts)
    const known = this.#profiles.get(key)
    if (known) return known
    if (this.#profiles.size > this.#sweepAt) this.#sweep()
    const profile = newProfile(key, facts)
    this.#profiles.set(key, profile)
    for (const owned of profile.owned) this.#carry(owned)
    this.#link(profile)
    return profile
  }

  place(profile: PodProfile, node: number, isTerminating: boolean): void {
    this.#count(profile, node, 1, isTerminating)
    raise(profile.nodes, node)
    if (isTerminating) raise(profile.terminating, node)
  }

  remove(profile: PodProfile, node: number, isTerminating: boolean): void {
    this.#count(profile, node, -1, isTerminating)
    lower(profile.nodes, node)
    if (isTerminating) lower(profile.terminating, node)
  }

  /** Makes a pod one of another profile, if that changes no count; tells whether it did. */
  move(from: PodProfile, to: PodProfile, node: number, isTerminating: boolean): boolean {
    if (from.counters.length !== to.counters.length) return false
    for (let i = 0; i < from.counters.length; i++) if (from.counters[i] !== to.counters[i]) return false
    lower(from.nodes, node)
    raise(to.nodes, node)
    if (isTerminating) {
      lower(from.terminating, node)
      raise(to.terminating, node)
    }
    return true
  }

  /** The counter for a scope, current from the start. Whoever takes it gives it back by `release`. */
  counter(scope: CounterScope): PodCounter {
    let entry = this.#counters.get(scope.signature)
    if (!entry) {
      entry = { counter: this.#newCounter(scope), users: 0 }
      this.#counters.set(scope.signature, entry)
    } else if (entry.users === 0) this.#unused--
    entry.users++
    return entry.counter
  }

  release(counter: PodCounter): void {
    const entry = this.#counters.get(counter.scope.signature)
    if (!entry || --entry.users > 0) return
    if (++this.#unused > MAX_UNUSED) this.#clearUnused()
  }

  /** Before a node changes: its pods are no longer counted where it was. */
  leave(node: number, profiles: Iterable<PodProfile>): void {
    for (const profile of profiles) this.#countAll(profile, node, -1)
    for (const { counter } of this.#counters.values()) counter.leave(node)
  }

  join(node: number, profiles: Iterable<PodProfile>): void {
    for (const { counter } of this.#counters.values()) counter.join(node)
    for (const profile of profiles) this.#countAll(profile, node, 1)
  }

  /** After the meaning of selectors has changed (labels of a namespace) or columns have grown. No counter survives. */
  rebuild(): void {
    this.#counters.clear()
    this.#byInclusion.clear()
    this.#unused = 0
    this.#carried.clear()
    this.carried.length = 0
    for (const [key, profile] of this.#profiles) {
      profile.counters = []
      if (profile.nodes.size === 0) this.#profiles.delete(key)
    }
    for (const profile of this.#profiles.values()) for (const owned of profile.owned) this.#carry(owned)
  }

  /** Profiles of which no pod is left. */
  #sweep(): void {
    for (const [key, profile] of this.#profiles) if (profile.nodes.size === 0) this.#profiles.delete(key)
    this.#sweepAt = Math.max(1000, this.#profiles.size * 2)
  }

  #newCounter(scope: CounterScope): PodCounter {
    const counter = this.#emptyCounter(scope)
    for (const profile of this.#profiles.values()) {
      const times = scope.countOf(profile)
      for (let i = 0; i < times; i++) profile.counters.push(counter)
      if (times > 0) for (const [node] of profile.nodes) counter.add(node, times * countedAt(profile, node, scope))
    }
    return counter
  }

  /** A service has two counters and a cluster has many services: asking each node for each of them would take long. */
  #emptyCounter(scope: CounterScope): PodCounter {
    const counter = new PodCounter(scope, this.#capacity())
    const key = `${scope.topology.key}|${scope.inclusion ?? ''}`
    const like = this.#byInclusion.get(key)
    if (like) counter.joinLike(like)
    else for (const node of this.#nodes()) counter.join(node)
    this.#byInclusion.set(key, counter)
    return counter
  }

  #carry(owned: OwnedTerm): void {
    if (this.#carried.has(owned.signature)) return
    for (const key of selectorKeys(owned.term.selector)) this.labelKeys.add(key)
    if (owned.term.namespaceSelector) this.usesNamespaceLabels = true
    const { signature } = owned
    const counter = this.counter({
      signature: `carried|${signature}`,
      topology: this.#topology(owned.term.topologyKey),
      countOf: (profile) => profile.owned.filter((one) => one.signature === signature).length,
      countsTerminating: true,
    })
    const carried: CarriedTerm = { ...owned, counter }
    this.#carried.set(signature, carried)
    this.carried.push(carried)
  }

  #link(profile: PodProfile): void {
    for (const { counter } of this.#counters.values()) {
      const times = counter.scope.countOf(profile) - profile.counters.filter((one) => one === counter).length
      for (let i = 0; i < times; i++) profile.counters.push(counter)
    }
  }

  #count(profile: PodProfile, node: number, delta: number, isTerminating: boolean): void {
    const { counters } = profile
    for (let i = 0; i < counters.length; i++) {
      const counter = counters[i]!
      if (!isTerminating || counter.scope.countsTerminating) counter.add(node, delta)
    }
  }

  #countAll(profile: PodProfile, node: number, sign: number): void {
    for (const counter of profile.counters) counter.add(node, sign * countedAt(profile, node, counter.scope))
  }

  #clearUnused(): void {
    const unused = new Set<PodCounter>()
    for (const [signature, { counter, users }] of this.#counters) {
      if (users > 0) continue
      unused.add(counter)
      this.#counters.delete(signature)
    }
    for (const profile of this.#profiles.values())
      profile.counters = profile.counters.filter((counter) => !unused.has(counter))
    // These are not kept current any more.
    for (const [key, counter] of this.#byInclusion) if (unused.has(counter)) this.#byInclusion.delete(key)
    this.#unused = 0
  }
}

function countedAt(profile: PodProfile, node: number, scope: CounterScope): number {
  const all = profile.nodes.get(node) ?? 0
  return scope.countsTerminating ? all : all - (profile.terminating.get(node) ?? 0)
}

function raise(counts: Map<number, number>, node: number): void {
  counts.set(node, (counts.get(node) ?? 0) + 1)
}

function lower(counts: Map<number, number>, node: number): void {
  const left = (counts.get(node) ?? 0) - 1
  if (left > 0) counts.set(node, left)
  else counts.delete(node)
}

export function selectorKeys({ requirements }: Selector): string[] {
  return requirements === 'nothing' ? [] : requirements.map((one) => one.key)
}
