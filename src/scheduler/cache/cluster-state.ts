import type { Node, Pod } from '../../api/generated/core-v1.ts'
import type { Labels } from '../../api/meta/label-selector.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { ChangeLog } from './change-log.ts'
import { ImageTable } from './image-table.ts'
import { NodeColumns, PODS } from './node-columns.ts'
import type { CounterScope, PodCounter } from './pod-counter.ts'
import { PodCounts } from './pod-counts.ts'
import { type PodFacts, podFacts } from './pod-facts.ts'
import type { PodProfile } from './pod-profile.ts'
import { HOSTNAME_KEY, NODE_NAME_KEY, Topology } from './topology.ts'

/** A pod that takes part of a node: bound to it, or assumed to be. */
export interface PlacedPod {
  readonly facts: PodFacts
  readonly node: number
  readonly profile: PodProfile
  /** Places and amounts of what it requests. */
  readonly resources: readonly number[]
  readonly amounts: readonly number[]
}

type Vector = Pick<PlacedPod, 'resources' | 'amounts'>

/** What `updatePod` found. */
export type PodChange = 'added' | 'changed' | 'relabelled' | 'same'

/**
 * All nodes and the pods on them, as scheduling sees them. Everything is kept current change by change; nothing here
 * asks the API server.
 */
export class ClusterState {
  readonly columns = new NodeColumns()
  readonly images = new ImageTable()
  readonly log = new ChangeLog()
  readonly counts: PodCounts
  /** When this changes, columns have been replaced and nothing that refers to them holds. */
  generation = 0
  readonly #topologies = new Map<string, Topology>()
  readonly #pods = new Map<string, PlacedPod>()
  readonly #podsOn: Set<PlacedPod>[] = []
  readonly #priorities = new Map<number, number>()
  readonly #namespaces = new Map<string, Labels>()
  readonly #vectors = new WeakMap<ReadonlyMap<string, number>, Vector>()
  /** Set while something is only tried: what is undone at once needs no log. */
  #isTrial = false

  constructor() {
    this.counts = new PodCounts(
      (key) => this.topology(key),
      () => this.presentNodes(),
      () => this.columns.capacity,
    )
  }

  get podCount(): number {
    return this.#pods.size
  }

  /** Whether any pod on any node is less important than this. */
  hasLesserPods(priority: number): boolean {
    for (const known of this.#priorities.keys()) if (known < priority) return true
    return false
  }

  *presentNodes(): Iterable<number> {
    const { present, names } = this.columns
    for (let node = 0; node < names.length; node++) if (present[node] === 1) yield node
  }

  topology(key: string): Topology {
    const known = this.#topologies.get(key)
    if (known) return known
    const topology = new Topology(key, this.columns.capacity)
    this.#topologies.set(key, topology)
    for (const node of this.presentNodes()) topology.assign(node, labelOf(this.columns.nodes[node]!, key))
    return topology
  }

  counter(scope: CounterScope): PodCounter {
    return this.counts.counter(scope)
  }

  namespaceLabels = (namespace: string): Labels => this.#namespaces.get(namespace)

  setNamespace(name: string, labels: Labels): boolean {
    const known = this.#namespaces.get(name)
    this.#namespaces.set(name, labels)
    if (!this.counts.usesNamespaceLabels || deepEqual(known, labels)) return false
    this.#startOver()
    return true
  }

  removeNamespace(name: string): void {
    this.#namespaces.delete(name)
  }

  /** Tells whether anything that scheduling looks at has changed. */
  setNode(node: Node): boolean {
    const place = this.#placeOf(node.metadata.name!)
    const old = this.columns.nodes[place]
    if (old && sameForScheduling(old, node)) {
      this.columns.nodes[place] = node
      return false
    }
    this.#changeNode(place, () => {
      this.columns.setNode(place, node)
      for (const [key, topology] of this.#topologies) topology.assign(place, labelOf(node, key))
    })
    this.images.set(place, node.status?.images, this.columns.count)
    return true
  }

  removeNode(name: string): void {
    const place = this.columns.find(name)
    if (place === undefined || this.columns.present[place] === 0) return
    this.#changeNode(place, () => {
      this.columns.unsetNode(place)
      for (const topology of this.#topologies.values()) topology.assign(place, undefined)
    })
    this.images.set(place, undefined, this.columns.count)
    this.#freeIfEmpty(place)
  }

  getPod(uid: string): PlacedPod | undefined {
    return this.#pods.get(uid)
  }

  podsOn(node: number): ReadonlySet<PlacedPod> {
    return this.#podsOn[node] ?? NO_PODS
  }

  nodeName(node: number): string {
    return this.columns.names[node]!
  }

  /** Puts a pod on a node, also one that does not exist yet. A pod of the same uid is replaced. */
  addPod(pod: Pod, nodeName: string, facts: PodFacts = podFacts(pod)): PlacedPod {
    this.removePod(facts.uid)
    const node = this.#placeOf(nodeName)
    const { resources, amounts } = this.#vector(facts)
    const placed: PlacedPod = { facts, node, profile: this.counts.profileOf(facts), resources, amounts }
    this.#pods.set(facts.uid, placed)
    this.#priorities.set(facts.priority, (this.#priorities.get(facts.priority) ?? 0) + 1)
    this.put(placed)
    return placed
  }

  /** The same pod, seen again: cheap when nothing that counts has changed. */
  updatePod(pod: Pod, nodeName: string): PodChange {
    const known = this.#pods.get(pod.metadata.uid!)
    if (!known) {
      this.addPod(pod, nodeName)
      return 'added'
    }
    if (this.nodeName(known.node) !== nodeName || !sameDemands(known.facts.pod, pod)) {
      this.addPod(pod, nodeName)
      return 'changed'
    }
    if (deepEqual(known.facts.pod.metadata.labels, pod.metadata.labels)) {
      Object.assign(known.facts, { pod })
      return 'same'
    }
    this.#relabel(known, pod, nodeName)
    return 'relabelled'
  }

  /** Labels that nobody counts by (those of its zone, which a pod gets when it is bound) change nothing on the node. */
  #relabel(known: PlacedPod, pod: Pod, nodeName: string): void {
    const facts = { ...known.facts, pod }
    const profile = this.counts.profileOf(facts)
    if (!this.counts.move(known.profile, profile, known.node, facts.isTerminating)) {
      this.addPod(pod, nodeName)
      return
    }
    Object.assign(known.facts, { pod })
    Object.assign(known, { profile })
  }

  removePod(uid: string): PlacedPod | undefined {
    const placed = this.#pods.get(uid)
    if (!placed) return undefined
    this.#pods.delete(uid)
    const { priority } = placed.facts
    const left = this.#priorities.get(priority)! - 1
    if (left > 0) this.#priorities.set(priority, left)
    else this.#priorities.delete(priority)
    this.take(placed)
    this.#freeIfEmpty(placed.node)
    return placed
  }

  /** Calls `work` with changes that it undoes itself before it returns. */
  trial<T>(work: () => T): T {
    const outer = this.#isTrial
    this.#isTrial = true
    try {
      return work()
    } finally {
      this.#isTrial = outer
    }
  }

  /** Counts a pod on its node: the half of `addPod` that a trial may use. */
  put(placed: PlacedPod): void {
    this.#occupy(placed, 1)
    this.#podsOn[placed.node] ??= new Set()
    this.#podsOn[placed.node]!.add(placed)
    this.counts.place(placed.profile, placed.node, placed.facts.isTerminating)
    if (!this.#isTrial) this.#logPods(placed.node)
  }

  take(placed: PlacedPod): void {
    this.#occupy(placed, -1)
    this.#podsOn[placed.node]?.delete(placed)
    this.counts.remove(placed.profile, placed.node, placed.facts.isTerminating)
    if (!this.#isTrial) this.#logPods(placed.node)
  }

  /** A pod as if it were on a node, for a trial. */
  wouldBe(facts: PodFacts, node: number): PlacedPod {
    return { facts, node, profile: this.counts.profileOf(facts), ...this.#vector(facts) }
  }

  /** Pods of one class share what they request. */
  #vector({ requests }: PodFacts): Vector {
    const known = this.#vectors.get(requests)
    if (known) return known
    const resources = [PODS]
    const amounts = [1]
    for (const [name, amount] of requests) {
      if (amount === 0) continue
      resources.push(this.columns.resource(name))
      amounts.push(amount)
    }
    const vector = { resources, amounts }
    this.#vectors.set(requests, vector)
    return vector
  }

  #occupy({ facts, node, resources, amounts }: PlacedPod, sign: 1 | -1): void {
    const { requested, nonZeroCpu, nonZeroMemory, usedPorts } = this.columns
    for (let r = 0; r < resources.length; r++) requested[resources[r]!]![node]! += sign * amounts[r]!
    nonZeroCpu[node]! += sign * facts.nonZero.cpu
    nonZeroMemory[node]! += sign * facts.nonZero.memory
    if (facts.ports.length === 0) return
    const used = usedPorts[node] ?? []
    usedPorts[node] = sign > 0 ? [...used, ...facts.ports] : used.filter((port) => !facts.ports.includes(port))
  }

  /** Nodes that share a hostname answer for each other's pods. */
  #logPods(node: number): void {
    this.log.podsChanged(node)
    const hostnames = this.#topologies.get(HOSTNAME_KEY)
    const value = hostnames?.values[node] ?? -1
    if (!hostnames || value < 0) return
    const members = hostnames.members(value)
    if (members.length > 1) for (const other of members) this.log.podsChanged(other)
  }

  #changeNode(place: number, change: () => void): void {
    const profiles = new Set<PodProfile>()
    for (const placed of this.podsOn(place)) profiles.add(placed.profile)
    this.counts.leave(place, profiles)
    change()
    if (this.columns.present[place] === 1) this.counts.join(place, profiles)
    this.log.nodeChanged(place)
    const hostnames = this.#topologies.get(HOSTNAME_KEY)
    const value = hostnames?.values[place] ?? -1
    if (hostnames && value >= 0 && hostnames.members(value).length > 1) this.#logPods(place)
  }

  #placeOf(name: string): number {
    const { place, grew } = this.columns.place(name)
    if (grew) {
      for (const topology of this.#topologies.values()) topology.grow(this.columns.capacity)
      this.#startOver()
    }
    return place
  }

  #startOver(): void {
    this.counts.rebuild()
    this.generation++
  }

  #freeIfEmpty(place: number): void {
    if (this.columns.present[place] === 1 || this.podsOn(place).size > 0) return
    this.columns.free(place)
  }
}

const NO_PODS: ReadonlySet<PlacedPod> = new Set()

export function labelOf(node: Node, key: string): string | undefined {
  const { labels, name } = node.metadata
  if (key === NODE_NAME_KEY) return name
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined
}

/** Heartbeats change a node often and say nothing new to scheduling. */
function sameForScheduling(a: Node, b: Node): boolean {
  return (
    a.spec?.unschedulable === b.spec?.unschedulable &&
    deepEqual(a.metadata.labels, b.metadata.labels) &&
    deepEqual(a.spec?.taints, b.spec?.taints) &&
    deepEqual(a.status?.allocatable, b.status?.allocatable) &&
    deepEqual(a.status?.images, b.status?.images)
  )
}

/** Whether a pod takes of its node what it took before. */
function sameDemands(a: Pod, b: Pod): boolean {
  return (
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    deepEqual(a.spec?.containers, b.spec?.containers) &&
    deepEqual(a.spec?.resources, b.spec?.resources) &&
    deepEqual(a.status?.containerStatuses, b.status?.containerStatuses)
  )
}
