import type { ClusterState } from '../cache/cluster-state.ts'
import type { PodFacts } from '../cache/pod-facts.ts'
import type { Rejection } from '../plugin.ts'

/** Pods that wait for a node on which room is being made for them. Lesser pods must leave that room alone. */
export class NominatedPods {
  readonly #pods = new Map<string, { readonly facts: PodFacts; readonly node: string }>()
  readonly #byNode = new Map<string, Map<string, PodFacts>>()
  /** How many there are of each priority. */
  readonly #priorities = new Map<number, number>()
  readonly cluster: ClusterState
  constructor(cluster: ClusterState) {
    this.cluster = cluster
  }

  get size(): number {
    return this.#pods.size
  }

  set(facts: PodFacts, node: string): void {
    const known = this.#pods.get(facts.uid)
    if (known?.node === node) return
    this.delete(facts.uid)
    this.#log(node)
    // Whoever the terms that it carries concern must know of them before it is there.
    this.cluster.counts.profileOf(facts)
    this.#pods.set(facts.uid, { facts, node })
    this.#priorities.set(facts.priority, (this.#priorities.get(facts.priority) ?? 0) + 1)
    const pods = this.#byNode.get(node) ?? new Map<string, PodFacts>()
    this.#byNode.set(node, pods.set(facts.uid, facts))
  }

  delete(uid: string): void {
    const known = this.#pods.get(uid)
    if (!known) return
    this.#log(known.node)
    this.#pods.delete(uid)
    const { priority } = known.facts
    const left = this.#priorities.get(priority)! - 1
    if (left > 0) this.#priorities.set(priority, left)
    else this.#priorities.delete(priority)
    const pods = this.#byNode.get(known.node)!
    pods.delete(uid)
    if (pods.size === 0) this.#byNode.delete(known.node)
  }

  /** Whoever remembers what fits on the node has to look again. */
  #log(name: string): void {
    const node = this.cluster.columns.find(name)
    if (node !== undefined) this.cluster.log.podsChanged(node)
  }

  nodeOf(uid: string): number | undefined {
    const known = this.#pods.get(uid)
    const node = known && this.cluster.columns.find(known.node)
    return node !== undefined && this.cluster.columns.present[node] === 1 ? node : undefined
  }

  on(node: number): PodFacts[] {
    return [...(this.#byNode.get(this.cluster.nodeName(node))?.values() ?? [])]
  }

  /** Whether any nominated pod comes before this one. */
  concerns({ uid, priority }: Promised): boolean {
    const itself = this.#pods.get(uid)?.facts.priority
    for (const [known, count] of this.#priorities)
      if (known >= priority && count > (known === itself ? 1 : 0)) return true
    return false
  }

  /** Nodes that are promised to pods that come before this one. */
  *nodesBefore(pod: Promised): Iterable<number> {
    for (const [name, pods] of this.#byNode) {
      const node = this.cluster.columns.find(name)
      if (node !== undefined && this.cluster.columns.present[node] === 1 && before(pods, pod).length > 0) yield node
    }
  }

  /** The pod must fit beside the pods that the node is promised to. */
  rejectionWith(pod: Promised, node: number, check: () => Rejection | undefined): Rejection | undefined {
    const cluster = this.cluster
    const pods = this.#byNode.get(cluster.nodeName(node))
    if (!pods) return undefined
    const first = before(pods, pod)
    if (first.length === 0) return undefined
    return cluster.trial(() => {
      const promised = first.map((facts) => cluster.wouldBe(facts, node))
      for (const one of promised) cluster.put(one)
      try {
        return check()
      } finally {
        for (const one of promised) cluster.take(one)
      }
    })
  }
}

type Promised = Pick<PodFacts, 'uid' | 'priority'>

const before = (pods: ReadonlyMap<string, PodFacts>, { uid, priority }: Promised): PodFacts[] =>
  [...pods.values()].filter((facts) => facts.uid !== uid && facts.priority >= priority)
