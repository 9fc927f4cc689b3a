import type { Pod, PodStatus } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { parseTime } from '../../api/meta/time.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { parseDuration } from '../../base/duration.ts'
import { WorkQueue } from '../../base/workqueue.ts'
import { type Informer, objectKey } from '../../client/informer.ts'
import type { SimulatedNodesOptions } from '../simulated-node.ts'
import type { NodeTable, SimulatedMachine } from './node-table.ts'
import { recordKilling, recordPodEvents } from './pod-events.ts'
import { isTerminal, stepPod, stoppedStatus } from './pod-status.ts'
import { annotationOf } from './program.ts'

const WORKERS = 64

export const podsByNode = ({ spec }: Pod): readonly string[] => (spec?.nodeName ? [spec.nodeName] : [])

/** Moves the pods of all simulated nodes on: one informer, one queue, work only for pods that changed or are due. */
export class PodLoop {
  readonly #options: SimulatedNodesOptions
  readonly #machines: NodeTable
  readonly #pods: Informer<Pod>
  readonly #queue: WorkQueue
  readonly #workers: Promise<void>[]
  readonly #unsubscribe: () => void
  /** What was just written and is yet to be told by the informer: then there is nothing new to do. */
  readonly #written = new Map<string, { version: string | undefined; wakeAt: number | undefined }>()
  #working = 0

  constructor(options: SimulatedNodesOptions, machines: NodeTable) {
    this.#options = options
    this.#machines = machines
    this.#pods = options.informers.informer(podKind, { indexes: { simulatedNode: podsByNode } })
    this.#queue = new WorkQueue(options.clock)
    this.#unsubscribe = this.#pods.onChange((old, current) => this.#changed(old, current))
    this.#workers = Array.from({ length: WORKERS }, () => this.#work())
  }

  get synced(): Promise<void> {
    return this.#pods.synced
  }

  get isBusy(): boolean {
    return this.#working > 0 || this.#queue.length > 0
  }

  podsOn(node: string): Pod[] {
    return this.#pods.byIndex('simulatedNode', node)
  }

  /** Looks at all pods of a node again. */
  wake(node: string): void {
    for (const pod of this.podsOn(node)) this.#queue.add(objectKey(pod))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    this.#queue.shutDown()
    await Promise.all(this.#workers)
  }

  #changed(old: Pod | undefined, current: Pod | undefined): void {
    const pod = (current ?? old)!
    const machine = this.#machines.get(pod.spec?.nodeName ?? '')
    if (!machine) return
    if (old && !isTerminal(old) && (!current || isTerminal(current))) machine.addresses?.release(old)
    if (current) this.#queue.add(objectKey(pod))
    else this.#written.delete(objectKey(pod))
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.next(); key !== undefined; key = await this.#queue.next()) {
      this.#working++
      try {
        const wakeAt = await this.#reconcile(key)
        this.#queue.forget(key)
        if (wakeAt !== undefined) this.#queue.addAfter(key, wakeAt - this.#options.clock.now())
      } catch (error) {
        this.#report(key, error)
      } finally {
        this.#working--
        this.#queue.done(key)
      }
    }
  }

  #report(key: string, error: unknown): void {
    // A pod that is gone needs nothing; one that changed is told again by the informer.
    if (error instanceof ApiError && error.code === 404) return
    if (!(error instanceof ApiError && error.code === 409))
      this.#options.log.warn('a simulated pod could not be moved on', { key, error })
    this.#queue.addRateLimited(key)
  }

  async #reconcile(key: string): Promise<number | undefined> {
    const pod = this.#pods.get(key)
    const machine = pod && this.#machines.get(pod.spec?.nodeName ?? '')
    if (!pod || !machine?.isAlive || !machine.node) return undefined
    const written = this.#written.get(key)
    this.#written.delete(key)
    if (pod.metadata.deletionTimestamp !== undefined) return this.#terminate(pod)
    if (isTerminal(pod)) return undefined
    if (written && written.version === pod.metadata.resourceVersion && !this.#isDue(written.wakeAt))
      return written.wakeAt
    return this.#run(key, pod, machine)
  }

  #isDue(time: number | undefined): boolean {
    return time !== undefined && time <= this.#options.clock.now()
  }

  async #run(key: string, pod: Pod, machine: SimulatedMachine): Promise<number | undefined> {
    const podIPs = this.#addressesOf(pod, machine)
    if (!podIPs) return undefined
    const { status, wakeAt } = stepPod(pod, { hostIP: machine.address, podIPs }, this.#options.clock.now())
    if (deepEqual(status, pod.status)) return wakeAt
    try {
      const { metadata } = await this.#write(pod, status)
      this.#written.set(key, { version: metadata.resourceVersion, wakeAt })
    } catch (error) {
      if (!pod.status?.podIPs && !pod.spec?.hostNetwork)
        machine.addresses?.release({ ...pod, status: { podIPs: podIPs.map((ip) => ({ ip })) } })
      throw error
    }
    if (this.#options.events) recordPodEvents(this.#options.events, pod, status)
    return wakeAt
  }

  /** Undefined while the node has no range; the node's next change looks again. */
  #addressesOf(pod: Pod, machine: SimulatedMachine): readonly string[] | undefined {
    if (pod.spec?.hostNetwork) return [machine.address]
    const known = pod.status?.podIPs?.map(({ ip }) => ip)
    if (known && known.length > 0) return known
    if (this.#options.awaitPodCIDR && !machine.node?.spec?.podCIDR) return undefined
    const taken = machine.addresses?.take()
    if (taken?.length === 0) throw new Error(`node ${machine.spec.name} has no pod address left`)
    return taken
  }

  async #terminate(pod: Pod): Promise<number | undefined> {
    const { name = '', uid = '', deletionGracePeriodSeconds: grace = 0 } = pod.metadata
    if (isTerminal(pod) && grace === 0) return undefined
    const { clock, client, events } = this.#options
    const stopAt = stopTime(pod, grace * 1000)
    if (stopAt > clock.now() && !isTerminal(pod)) return stopAt
    if (!isTerminal(pod)) {
      if (events) recordKilling(events, pod)
      await this.#write(pod, stoppedStatus(pod, clock.now()))
    }
    const pods = client.resource(podKind).namespace(pod.metadata.namespace ?? '')
    await pods.delete(name, { gracePeriodSeconds: 0, preconditions: { uid } })
    return undefined
  }

  #write(pod: Pod, status: PodStatus): Promise<Pod> {
    return this.#options.client.resource(podKind).updateStatus({ ...pod, status })
  }
}

/** A simulated process ends at once when it is told to, unless it says that it takes longer; never beyond its grace. */
function stopTime(pod: Pod, grace: number): number {
  const patience = parseDuration(annotationOf(pod, 'terminate-after') ?? '') ?? 0
  const deletedAt = (parseTime(pod.metadata.deletionTimestamp ?? '') ?? 0) - grace
  return deletedAt + Math.min(patience, grace)
}
