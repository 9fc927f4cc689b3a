import type { ClusterState } from '../cache/cluster-state.ts'
import type { PodFacts } from '../cache/pod-facts.ts'
import type { Rejection } from '../plugin.ts'

/** Pods that wait for a node on which room is being made for them. Lesser pods must leave that room alone. */
export class NominatedPods {
  readonly #pods = new Map<string, { readonly facts: PodFacts; readonly node: string }>()
  readonly #byNode = new Map<string, Map<string, PodFacts>>()
  readonly #cluster: ClusterState
  constructor(cluster: ClusterState) {
    this.#cluster = cluster
  }

  get size(): number {
    return this.#pods.size
  }

  set(facts: PodFacts, node: string): void {
    const known = this.#pods.get(facts.uid)
    if (known?.node === node) return
    this.delete(facts.uid)
    this.#log(node)
    this.#pods.set(facts.uid, { facts, node })
    const pods = this.#byNode.get(node) ?? new Map<string, PodFacts>()
    this.#byNode.set(node, pods.set(facts.uid, facts))
  }

  delete(uid: string): void {
    const known = this.#pods.get(uid)
    if (!known) return
    this.#log(known.node)
    this.#pods.delete(uid)
    const pods = this.#byNode.get(known.node)!
    pods.delete(uid)
    if (pods.size === 0) this.#byNode.delete(known.node)
  }

  /** Whoever remembers what fits on the node has to look again. */
  #log(name: string): void {
    const node = this.#cluster.columns.find(name)
    if (node !== undefined) this.#cluster.log.podsChanged(node)
  }

  nodeOf(uid: string): number | undefined {
    const known = this.#pods.get(uid)
    const node = known && this.#cluster.columns.find(known.node)
    return node !== undefined && this.#cluster.columns.present[node] === 1 ? node : undefined
  }

  on(node: number): PodFacts[] {
    return [...(this.#byNode.get(this.#cluster.nodeName(node))?.values() ?? [])]
  }

  /** Whether any nominated pod comes before this one. */
  concerns({ uid, priority }: PodFacts): boolean {
    for (const { facts } of this.#pods.values()) if (facts.uid !== uid && facts.priority >= priority) return true
    return false
  }

  /** The pod must fit beside the pods that the node is promised to. */
  rejectionWith(
    { uid, priority }: PodFacts,
    node: number,
    cluster: ClusterState,
    check: () => Rejection | undefined,
  ): Rejection | undefined {
    const pods = this.#byNode.get(cluster.nodeName(node))
    if (!pods) return undefined
    const first = [...pods.values()].filter((facts) => facts.uid !== uid && facts.priority >= priority)
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
