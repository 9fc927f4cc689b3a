import type { ClusterEvent } from './cluster-event.ts'
import { PriorityHeap } from './priority-heap.ts'
import { comesBefore, type QueuedPod } from './queued-pod.ts'
import type { QueueOptions } from './scheduling-queue.ts'

/** Pods that are alike and were refused by the same plugins. */
export interface WaitingGroup {
  readonly key: string
  readonly pods: PriorityHeap<QueuedPod>
  readonly events: ReadonlySet<ClusterEvent> | undefined
}

/** What happens on its own node reaches a nominated pod directly. */
const WHILE_NOMINATED: ReadonlySet<ClusterEvent> = new Set(['NodeAdd', 'NodeUpdate'])

/** Pods for which there was no node, by what would have to happen. An event costs per group, not per pod. */
export class WaitingPods {
  readonly #options: Pick<QueueOptions, 'retryOn' | 'wouldFit'>
  readonly #groups = new Map<string, WaitingGroup>()
  readonly #flagged = new Set<WaitingGroup>()
  #size = 0

  constructor(options: Pick<QueueOptions, 'retryOn' | 'wouldFit'>) {
    this.#options = options
  }

  get size(): number {
    return this.#size
  }

  get isFlagged(): boolean {
    return this.#flagged.size > 0
  }

  add(entry: QueuedPod): void {
    const group = this.#groupOf(entry)
    entry.group = group
    group.pods.push(entry)
    this.#size++
  }

  delete(entry: QueuedPod): void {
    const { group } = entry
    if (!group?.pods.remove(entry)) return
    this.#size--
    if (group.pods.size > 0) return
    this.#groups.delete(group.key)
    this.#flagged.delete(group)
  }

  /** Marks the groups that the event concerns; they are looked at when the next pod is wanted. */
  flag(event: ClusterEvent): boolean {
    for (const group of this.#groups.values()) if (!group.events || group.events.has(event)) this.#flagged.add(group)
    return this.#flagged.size > 0
  }

  flagAgain({ group }: QueuedPod): void {
    if (group && group.pods.size > 0 && this.#groups.get(group.key) === group) this.#flagged.add(group)
  }

  /** Of each marked group that would find a node, the first pod; the mark is gone. */
  nextFitting(): QueuedPod[] {
    if (this.#flagged.size === 0) return []
    const woken: QueuedPod[] = []
    for (const group of this.#flagged) {
      const first = group.pods.top
      if (!first) continue
      const fits = this.#options.wouldFit(first)
      // Where only an attempt can tell, all of them are tried.
      if (fits === undefined) woken.push(...group.pods.values())
      else if (fits) woken.push(first)
    }
    this.#flagged.clear()
    for (const entry of woken) this.delete(entry)
    return woken
  }

  olderThan(time: number): QueuedPod[] {
    const old: QueuedPod[] = []
    for (const group of this.#groups.values())
      for (const entry of group.pods.values()) if (entry.since <= time) old.push(entry)
    return old
  }

  #groupOf(entry: QueuedPod): WaitingGroup {
    const plugins = [...entry.refusedBy].sort()
    const key = `${plugins.join(',')}|${entry.classified?.result.signature ?? entry.uid}|${pinsOf(entry)}`
    const known = this.#groups.get(key)
    if (known) return known
    const group: WaitingGroup = {
      key,
      pods: new PriorityHeap(comesBefore),
      events: entry.nominatedNode === undefined ? this.#eventsFor(plugins) : WHILE_NOMINATED,
    }
    this.#groups.set(key, group)
    return group
  }

  #eventsFor(plugins: readonly string[]): ReadonlySet<ClusterEvent> | undefined {
    const events = new Set<ClusterEvent>()
    for (const plugin of plugins) {
      const some = this.#options.retryOn(plugin)
      if (!some) return undefined
      for (const event of some) events.add(event)
    }
    return plugins.length === 0 ? undefined : events
  }
}

/** Pods that name a node, use claims or wait for a node of their own are alike only if these are. */
function pinsOf({ classified, uid, nominatedNode }: QueuedPod): string {
  const result = classified?.result
  if (!result || nominatedNode !== undefined || result.facts.claims.length > 0) return uid
  return result.pinned ? [...result.pinned].join(',') : ''
}
