import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pod } from '../../api/generated/core-v1.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Client } from '../../client/client.ts'
import type { SchedulerConfiguration } from '../configuration.ts'
import { type Attempt, decide, isAsked } from '../framework/decision.ts'
import type { Diagnosis } from '../framework/diagnosis.ts'
import type { Profile } from '../framework/profile.ts'
import { evict } from '../preemption/evict.ts'
import type { Victims } from '../preemption/victims.ts'
import type { ClusterEvent } from '../queue/cluster-event.ts'
import type { QueuedPod } from '../queue/queued-pod.ts'
import { SchedulingQueue } from '../queue/scheduling-queue.ts'
import type { SchedulingContext } from '../scheduling-context.ts'
import { Binder } from './binder.ts'
import { FailureWriter } from './failure-writer.ts'

/** Tells users what happened to an object. Never fails, never waits. */
export interface SchedulerEvents {
  event(about: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void
}

export interface LoopOptions {
  readonly context: SchedulingContext
  readonly configuration: SchedulerConfiguration
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly events: SchedulerEvents
}

/** So many bindings may be on their way; then decisions wait. */
const MAX_BINDINGS = 512
/** After so many decisions others get a turn. */
const DECISIONS_PER_TURN = 64

/**
 * What kube-scheduler's plugin for dynamic resources says when it is asked to make room, before preemption is: to pods
 * without such claims, and to pods that were refused before it had a look at them, for which nothing else is tried.
 */
const NOTHING_TO_DEALLOCATE = 'no new claims to deallocate'
const NO_STATE = 'not found'

/** The first loop: takes a pod, decides, assumes the decision to be true and hands it to the binder. */
export class SchedulingLoop {
  readonly queue: SchedulingQueue
  readonly #options: LoopOptions
  readonly #binder: Binder
  readonly #failures: FailureWriter
  /** Pods that have a node in memory and not yet in the API. */
  readonly #binding = new Set<string>()
  /** Victims that were told to go and are still seen. */
  readonly #leaving = new Set<string>()
  #evictions = 0
  #isRunning = false
  #isHeld = false
  #isStopped = false

  constructor(options: LoopOptions) {
    const { configuration, clock, client, log } = options
    this.#options = options
    this.#binder = new Binder(client)
    this.#failures = new FailureWriter(client, clock, log)
    this.queue = new SchedulingQueue({
      clock,
      podInitialBackoffSeconds: configuration.podInitialBackoffSeconds ?? 1,
      podMaxBackoffSeconds: configuration.podMaxBackoffSeconds ?? 10,
      retryOn: retryTable(options.context),
      wouldFit: (entry) => this.#wouldFit(entry),
      wake: () => this.#wake(),
    })
  }

  get isBusy(): boolean {
    const bindings = this.#binding.size - this.#options.context.storage.waits.size
    return this.#isRunning || bindings > 0 || this.#evictions > 0 || this.#failures.isBusy
  }

  pending(pod: Pod): void {
    const uid = pod.metadata.uid!
    if (this.#binding.has(uid)) return
    this.queue.set(pod)
    const nominated = pod.status?.nominatedNodeName
    const entry = this.queue.get(uid)
    if (entry && nominated) entry.nominatedNode = nominated
  }

  settled(uid: string): void {
    this.queue.delete(uid)
    this.#failures.forget(uid)
    this.#leaving.delete(uid)
  }

  happened(event: ClusterEvent): void {
    this.queue.happened(event)
  }

  roomOn(node: number): void {
    const { nominated, cluster } = this.#options.context
    if (nominated.size === 0 || cluster.columns.names[node] === undefined) return
    for (const { uid } of nominated.on(node)) {
      const entry = this.queue.get(uid)
      if (entry && (this.#fitsOn(entry, node) || !this.#isBeingCleared(node, entry.priority))) this.queue.activate(uid)
    }
  }

  #fitsOn(entry: QueuedPod, node: number): boolean {
    const attempt = this.#attemptFor(entry)
    return attempt !== undefined && !attempt.podClass.check(node)
  }

  /** More pods are on their way out: until they are gone there is nothing new to say to who waits for the node. */
  #isBeingCleared(node: number, priority: number): boolean {
    for (const { facts } of this.#options.context.cluster.podsOn(node))
      if (facts.priority < priority && (facts.isTerminating || this.#leaving.has(facts.uid))) return true
    return false
  }

  /** Nothing is decided before everything has been seen. */
  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.#wake()
  }

  /** Resolves when nothing is on its way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.queue.stop()
    this.#options.context.storage.waits.stop()
    while (this.isBusy) await nextTurn()
  }

  #wake(): void {
    if (this.#isRunning || this.#isHeld || this.#isStopped || this.#binding.size >= MAX_BINDINGS) return
    this.#isRunning = true
    void this.#run()
  }

  async #run(): Promise<void> {
    for (;;) {
      await nextTurn()
      const canGoOn = !this.#isStopped && this.#binding.size < MAX_BINDINGS
      if (!canGoOn || !this.#decideSome()) break
    }
    this.#isRunning = false
  }

  /** Whether there may be more to decide. */
  #decideSome(): boolean {
    for (let i = 0; i < DECISIONS_PER_TURN && this.#binding.size < MAX_BINDINGS; i++) {
      const entry = this.queue.pop()
      if (!entry) return false
      try {
        this.#schedule(entry)
      } catch (error) {
        this.#failed(entry, error)
      }
    }
    return true
  }

  #schedule(entry: QueuedPod): void {
    const attempt = this.#attemptFor(entry)
    if (!attempt) return
    const decision = decide(attempt)
    if ('diagnosis' in decision) {
      this.#unschedulable(entry, attempt, decision.diagnosis)
      return
    }
    const { cluster, nominated, claimUsers } = this.#options.context
    const nodeName = cluster.nodeName(decision.node)
    this.queue.placed(entry)
    this.queue.delete(entry.uid)
    nominated.delete(entry.uid)
    const { facts } = cluster.addPod(entry.pod, nodeName, attempt.pod.facts)
    claimUsers.add(facts)
    this.#binding.add(entry.uid)
    this.queue.happened('PodAdd')
    void this.#bind(entry, nodeName, attempt)
  }

  #attemptFor(entry: QueuedPod): Attempt | undefined {
    const { context } = this.#options
    const profile = context.profileOf(entry.pod)
    if (!profile) return undefined
    const version = context.classVersion
    if (entry.classified?.version !== version) entry.classified = { version, result: context.classify(entry.pod) }
    return context.attempt(entry.classified.result, profile)
  }

  #wouldFit(entry: QueuedPod): boolean | undefined {
    const attempt = this.#attemptFor(entry)
    if (!attempt || attempt.pod.pinned) return undefined
    if (attempt.profile.plugins.some(({ plugin }) => isAsked(plugin, entry.pod))) return undefined
    const { context } = this.#options
    const own = context.nominated.nodeOf(entry.uid)
    return (own !== undefined && !attempt.podClass.check(own)) || attempt.podClass.isFeasible()
  }

  async #bind(entry: QueuedPod, nodeName: string, { profile, cycle }: Attempt): Promise<void> {
    const { pod, uid } = entry
    try {
      await this.#binder.bind(pod, nodeName, profile, cycle)
      const { namespace, name } = pod.metadata
      this.#options.events.event(
        pod,
        'Normal',
        'Scheduled',
        `Successfully assigned ${namespace}/${name} to ${nodeName}`,
      )
    } catch (error) {
      if (!this.#isStopped) this.#giveBack(entry, error)
    } finally {
      this.#binding.delete(uid)
      if (this.queue.isReady) this.#wake()
    }
  }

  /** The pod is not on its node after all. */
  #giveBack(entry: QueuedPod, error: unknown): void {
    const { cluster, claimUsers } = this.#options.context
    const { uid } = entry
    const placed = cluster.getPod(uid)
    // Seen bound in the meantime: whoever did it was faster.
    if (placed?.facts.pod.spec?.nodeName) return
    if (!placed) return
    claimUsers.remove(placed.facts)
    cluster.removePod(uid)
    this.#binding.delete(uid)
    this.queue.happened('PodDelete')
    if (error instanceof ApiError && error.code === 404) return
    this.queue.restore(entry)
    this.#failed(entry, error)
  }

  #failed(entry: QueuedPod, error: unknown): void {
    const { log, events } = this.#options
    const message = error instanceof Error ? error.message : String(error)
    const isRace = error instanceof ApiError && error.code === 409
    if (isRace) log.debug('a binding lost a race', { pod: entry.pod.metadata.name, error: message })
    else log.warn('a pod could not be scheduled', { pod: entry.pod.metadata.name, error: message })
    events.event(entry.pod, 'Warning', 'FailedScheduling', message)
    this.#failures.write(entry.pod, { reason: 'SchedulerError', message })
    this.queue.retry(entry)
  }

  #unschedulable(entry: QueuedPod, attempt: Attempt, diagnosis: Diagnosis): void {
    const { context, events } = this.#options
    const told = this.#makeRoom(entry, attempt, diagnosis)
    const node = context.nominated.nodeOf(entry.uid)
    if (node === undefined) delete entry.nominatedNode
    else entry.nominatedNode = context.cluster.nodeName(node)
    this.queue.unschedulable(entry, diagnosis.plugins)
    const { message } = told
    events.event(entry.pod, 'Warning', 'FailedScheduling', message)
    const before = entry.pod.status?.nominatedNodeName
    const nominatedNode = entry.nominatedNode ?? (before ? '' : undefined)
    this.#failures.write(entry.pod, { reason: 'Unschedulable', message, nominatedNode })
  }

  /** Preemption, and the plugins' own ways of making room. */
  #makeRoom(entry: QueuedPod, attempt: Attempt, diagnosis: Diagnosis): Diagnosis {
    const { plugins } = attempt.profile
    const texts: string[] = []
    for (const { plugin } of plugins) {
      const text = plugin.postFilter?.(entry.pod, attempt.cycle)
      if (text) texts.push(text)
    }
    if (diagnosis.nodeCount === 0) return diagnosis
    if (diagnosis.whole && !diagnosis.whole.resolvable) return diagnosis.withPostFilter(NO_STATE)
    texts.push(NOTHING_TO_DEALLOCATE)
    if (plugins.some(({ plugin }) => plugin.name === 'DefaultPreemption')) {
      const refusal = this.#preempt(entry, attempt, diagnosis)
      if (refusal === undefined) return diagnosis
      texts.push(refusal)
    }
    return diagnosis.withPostFilter(texts.join(', '))
  }

  /** Why nobody is made to go; nothing if somebody is. */
  #preempt(entry: QueuedPod, attempt: Attempt, diagnosis: Diagnosis): string | undefined {
    const { context } = this.#options
    const result = context.preemption.find(attempt, diagnosis, (uid) => this.#leaving.has(uid))
    if ('message' in result) {
      // The promise of a node that does not hold any more must not bind others.
      if (!result.message.includes('terminating pod')) context.nominated.delete(entry.uid)
      return result.message
    }
    const nodeName = context.cluster.nodeName(result.victims.node)
    this.#dethrone(entry, result.victims.node)
    context.nominated.set(attempt.pod.facts, nodeName)
    this.#evict(entry, attempt.profile, result.victims, nodeName)
    return undefined
  }

  /** Lesser pods that wait for the same node look for another one. */
  #dethrone(entry: QueuedPod, node: number): void {
    const { nominated } = this.#options.context
    for (const { uid, priority, pod } of nominated.on(node)) {
      if (uid === entry.uid || priority >= entry.priority) continue
      nominated.delete(uid)
      const waiting = this.queue.get(uid)
      if (waiting) delete waiting.nominatedNode
      const known = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
      this.#failures.write(pod, { reason: 'Unschedulable', message: known?.message ?? '', nominatedNode: '' })
      this.queue.activate(uid)
    }
  }

  #evict(entry: QueuedPod, { schedulerName }: Profile, { pods }: Victims, nodeName: string): void {
    const { client, clock, events, log } = this.#options
    for (const { facts } of pods) {
      if (facts.isTerminating || this.#leaving.has(facts.uid)) continue
      this.#leaving.add(facts.uid)
      this.#evictions++
      void evict(client, clock, facts.pod, schedulerName)
        .then(() => events.event(facts.pod, 'Normal', 'Preempted', `Preempted by pod ${entry.uid} on node ${nodeName}`))
        .catch((error) => {
          this.#leaving.delete(facts.uid)
          log.warn('a victim could not be preempted', { pod: facts.pod.metadata.name, error: String(error) })
          this.queue.activate(entry.uid)
        })
        .finally(() => this.#evictions--)
    }
  }
}

/** Events by plugin name, over all profiles. */
function retryTable({ profiles }: SchedulingContext): (plugin: string) => readonly ClusterEvent[] | undefined {
  const table = new Map<string, readonly ClusterEvent[] | undefined>()
  for (const { plugins } of profiles.values()) for (const { plugin } of plugins) table.set(plugin.name, plugin.retryOn)
  return (plugin) => table.get(plugin)
}
