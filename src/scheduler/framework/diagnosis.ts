import type { Rejection } from '../plugin.ts'

/** Why no node took a pod: how many nodes each rejection kept out. */
export class Diagnosis {
  readonly nodeCount: number
  readonly counts: ReadonlyMap<Rejection, number>
  /** Says what no node is to blame for: a claim that does not exist, no node at all. */
  readonly whole: Rejection | undefined
  /** What preemption had to say. */
  readonly postFilter: string | undefined

  constructor(nodeCount: number, counts: ReadonlyMap<Rejection, number>, whole?: Rejection, postFilter?: string) {
    this.nodeCount = nodeCount
    this.counts = counts
    this.whole = whole
    this.postFilter = postFilter
  }

  /** The plugins that refused the pod: only what they care about can change their minds. */
  get plugins(): Set<string> {
    const plugins = new Set<string>()
    if (this.whole) plugins.add(this.whole.plugin)
    for (const { plugin } of this.counts.keys()) plugins.add(plugin)
    return plugins
  }

  withPostFilter(text: string | undefined): Diagnosis {
    return new Diagnosis(this.nodeCount, this.counts, this.whole, text)
  }

  /** `0/5 nodes are available: 2 Insufficient cpu, 3 node(s) were unschedulable. preemption: ...` */
  get message(): string {
    if (this.nodeCount === 0) return 'no nodes available to schedule pods'
    const reasons = this.whole ? this.whole.reasons.join(', ') : this.#histogram()
    const after = this.postFilter ? ` ${this.postFilter}` : ''
    return `0/${this.nodeCount} nodes are available: ${reasons}.${after}`
  }

  #histogram(): string {
    const nodes = new Map<string, number>()
    for (const [{ reasons }, count] of this.counts)
      for (const reason of reasons) nodes.set(reason, (nodes.get(reason) ?? 0) + count)
    return histogram(nodes)
  }
}

/** `2 Insufficient cpu, 3 Too many pods`, in the order of the texts. */
export function histogram(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(', ')
}
