import type { Pod } from '../../api/generated/core-v1.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { priorityOf } from '../cache/pod-facts.ts'
import type { ClusterEvent } from './cluster-event.ts'
import { PriorityHeap } from './priority-heap.ts'
import { comesBefore, type QueuedPod } from './queued-pod.ts'
import { WaitingPods } from './waiting-pods.ts'

export interface QueueOptions {
  readonly clock: Clock
  readonly podInitialBackoffSeconds: number
  readonly podMaxBackoffSeconds: number
  /** Which events make a pod worth another try that a plugin refused. */
  readonly retryOn: (plugin: string) => readonly ClusterEvent[] | undefined
  /** Whether a pod of this group would find a node now; undefined if only an attempt can tell. */
  readonly wouldFit: (pod: QueuedPod) => boolean | undefined
  /** Something may be ready to be popped. */
  readonly wake: () => void
}

/** A pod that has waited so long is tried again even if nothing has happened. */
const MAX_WAIT = 5 * 60_000
const FLUSH_EVERY = 30_000

/**
 * Pods that need a node. Guarantees:
 * - The pod of the highest priority comes first, then the one that came first.
 * - A pod that found no place waits until something happens that its refusers care about; of pods that are alike only
 *   one is woken at a time, the next when that one has found a place.
 * - A pod whose binding failed waits a little, longer each time.
 * - A pod with scheduling gates does not move at all.
 */
export class SchedulingQueue {
  readonly #options: QueueOptions
  readonly #pods = new Map<string, QueuedPod>()
  readonly #active = new PriorityHeap<QueuedPod>(comesBefore)
  readonly #backoff = new Map<QueuedPod, Timer>()
  readonly #waiting: WaitingPods
  readonly #flush: { timer: Timer | undefined }
  #order = 0

  constructor(options: QueueOptions) {
    this.#options = options
    this.#waiting = new WaitingPods(options)
    this.#flush = { timer: undefined }
  }

  /** Pods that can be tried now. */
  get active(): number {
    return this.#active.size
  }

  get length(): number {
    return this.#pods.size
  }

  get isReady(): boolean {
    return this.#active.size > 0 || this.#waiting.isFlagged
  }

  get(uid: string): QueuedPod | undefined {
    return this.#pods.get(uid)
  }

  /** A pod without a node, new or changed. */
  set(pod: Pod): void {
    const uid = pod.metadata.uid!
    const known = this.#pods.get(uid)
    if (known) {
      this.#update(known, pod)
      return
    }
    const entry: QueuedPod = {
      pod,
      uid,
      priority: priorityOf(pod),
      order: this.#order++,
      attempts: 0,
      since: 0,
      refusedBy: new Set(),
    }
    this.#pods.set(uid, entry)
    if (!isGated(pod)) this.#activate(entry)
  }

  /** A pod that was deleted as placed and is not. It does not move before `retry`. */
  restore(entry: QueuedPod): void {
    this.#pods.set(entry.uid, entry)
  }

  delete(uid: string): void {
    const entry = this.#pods.get(uid)
    if (!entry) return
    this.#pods.delete(uid)
    this.#leave(entry)
  }

  /** The next pod to try; it stays known until it is deleted. */
  pop(): QueuedPod | undefined {
    const woken = this.#waiting.nextFitting()
    for (const entry of woken) this.#active.push(entry)
    const entry = this.#active.pop()
    if (entry) entry.attempts++
    return entry
  }

  /** No node was found. */
  unschedulable(entry: QueuedPod, refusedBy: ReadonlySet<string>): void {
    if (!this.#pods.has(entry.uid)) return
    entry.refusedBy = refusedBy
    entry.since = this.#options.clock.now()
    this.#waiting.add(entry)
    this.#scheduleFlush()
  }

  /** It was not the pod's fault: try again soon. */
  retry(entry: QueuedPod): void {
    if (!this.#pods.has(entry.uid) || this.#backoff.has(entry)) return
    const timer = this.#options.clock.after(this.#backoffOf(entry), () => {
      this.#backoff.delete(entry)
      this.#activate(entry)
    })
    this.#backoff.set(entry, timer.unref())
  }

  /** A pod of this entry's group has found its place: the next of them may too. */
  placed(entry: QueuedPod): void {
    this.#waiting.flagAgain(entry)
  }

  /** Something happened that may make pods placeable. */
  happened(event: ClusterEvent): void {
    if (this.#waiting.flag(event)) this.#options.wake()
  }

  /** Tries a pod again whatever refused it. */
  activate(uid: string): void {
    const entry = this.#pods.get(uid)
    if (entry && !isGated(entry.pod) && !this.#backoff.has(entry)) this.#activate(entry)
  }

  stop(): void {
    for (const timer of this.#backoff.values()) timer.cancel()
    this.#flush.timer?.cancel()
  }

  #update(entry: QueuedPod, pod: Pod): void {
    const old = entry.pod
    entry.pod = pod
    if (!changesPlacement(old, pod)) return
    delete entry.classified
    entry.priority = priorityOf(pod)
    if (isGated(pod) || this.#backoff.has(entry)) return
    this.#activate(entry)
  }

  #activate(entry: QueuedPod): void {
    this.#leave(entry)
    this.#active.push(entry)
    this.#options.wake()
  }

  #leave(entry: QueuedPod): void {
    this.#active.remove(entry)
    this.#waiting.delete(entry)
    this.#backoff.get(entry)?.cancel()
    this.#backoff.delete(entry)
  }

  #backoffOf({ attempts }: QueuedPod): number {
    const { podInitialBackoffSeconds, podMaxBackoffSeconds } = this.#options
    return 1000 * Math.min(podMaxBackoffSeconds, podInitialBackoffSeconds * 2 ** Math.max(0, attempts - 1))
  }

  #scheduleFlush(): void {
    this.#flush.timer ??= this.#options.clock
      .after(FLUSH_EVERY, () => {
        this.#flush.timer = undefined
        const latest = this.#options.clock.now() - MAX_WAIT
        for (const entry of this.#waiting.olderThan(latest)) this.#activate(entry)
        if (this.#waiting.size > 0) this.#scheduleFlush()
      })
      .unref()
  }
}

export const isGated = (pod: Pod): boolean => (pod.spec?.schedulingGates?.length ?? 0) > 0

/** Status is written by the scheduler itself: it must not wake a pod. */
function changesPlacement(old: Pod, pod: Pod): boolean {
  return (
    old.metadata.generation !== pod.metadata.generation ||
    JSON.stringify(old.metadata.labels) !== JSON.stringify(pod.metadata.labels) ||
    JSON.stringify(old.spec) !== JSON.stringify(pod.spec)
  )
}
