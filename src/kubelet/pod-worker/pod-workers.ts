import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { Pod } from '../../api/generated/core-v1.ts'
import type { Informer } from '../../client/informer.ts'
import type { PodSandbox } from '../../container-runtime/runtime.ts'
import { POD_GRACE_PERIOD, POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from '../pod/runtime-labels.ts'
import { PodVolumes } from '../volumes/pod-volumes.ts'
import { podDirectory } from './pod-paths.ts'
import { PodWorker } from './pod-worker.ts'
import type { WorkerContext } from './worker-context.ts'

/** A second look at everything in the runtime, should an event ever get lost. */
const RELIST = 60_000

/** All pods of the node: those the API wants here, and those the runtime still has. */
export class PodWorkers implements AsyncDisposable {
  readonly #context: WorkerContext
  readonly #pods: Informer<Pod>
  readonly #workers = new Map<string, PodWorker>()
  /** Whose sandbox it is. */
  readonly #sandboxes = new Map<string, string>()
  readonly #stop = new AbortController()
  #unsubscribe = () => {}
  #watching: Promise<void> | undefined

  constructor(context: WorkerContext, pods: Informer<Pod>) {
    this.#context = context
    this.#pods = pods
  }

  /** Adopts what runs already, then follows the API. Both the informers and the runtime must be there. */
  async start(): Promise<void> {
    this.#watching = this.#watch()
    const sandboxes = await this.#context.runtime.listPodSandbox()
    for (const { id, labels } of sandboxes) this.#sandboxes.set(id, labels[POD_UID_LABEL] ?? '')
    const adopted = new Set(sandboxes.map(({ labels }) => labels[POD_UID_LABEL] ?? ''))
    // What runs already is admitted before what would like to.
    const known = this.#pods.list().sort(byAge)
    for (const pod of known) if (adopted.has(pod.metadata.uid ?? '')) this.#add(pod)
    this.#unsubscribe = this.#pods.onChange((old, current) => this.#changed(old, current))
    for (const sandbox of sandboxes) this.#adoptOrphan(sandbox)
    await this.#removeLeftFolders()
  }

  get(uid: string): PodWorker | undefined {
    return this.#workers.get(uid)
  }

  *all(): Iterable<PodWorker> {
    yield* this.#workers.values()
  }

  /** Pods that take up room on the node, besides this one. */
  active(except: Pod): Pod[] {
    return [...this.#workers.values()]
      .filter((worker) => worker.isActive && worker.state.uid !== except.metadata.uid)
      .map((worker) => worker.state.pod)
  }

  /** No pod is ready any more, and none is added; resolves when the API knows. */
  async withdraw(): Promise<void> {
    this.#unsubscribe()
    await Promise.all([...this.#workers.values()].map((worker) => worker.withdraw()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    this.#stop.abort()
    await Promise.all([...this.#workers.values()].map((worker) => worker.detach()))
    await this.#watching
  }

  #changed(old: Pod | undefined, current: Pod | undefined): void {
    const before = old?.metadata.uid
    const now = current?.metadata.uid
    if (before !== undefined && before !== now) this.#workers.get(before)?.remove()
    if (!current || now === undefined) return
    const worker = this.#workers.get(now)
    if (worker) worker.update(current)
    else this.#add(current)
  }

  #add(pod: Pod, inApi = true): void {
    const uid = pod.metadata.uid ?? ''
    if (this.#workers.has(uid)) return
    const onGone = () => {
      this.#workers.delete(uid)
      for (const worker of this.#workers.values()) worker.roomFreed()
    }
    this.#workers.set(uid, new PodWorker({ context: this.#context, pod, inApi, onGone }))
  }

  /** A pod that was deleted while no kubelet looked. What does not carry our labels is not ours. */
  #adoptOrphan({ labels, annotations, metadata }: PodSandbox): void {
    const uid = labels[POD_UID_LABEL]
    if (uid === undefined || this.#workers.has(uid)) return
    const grace = Number(annotations[POD_GRACE_PERIOD] ?? 30)
    this.#add(
      {
        metadata: {
          name: labels[POD_NAME_LABEL] ?? metadata.name,
          namespace: labels[POD_NAMESPACE_LABEL] ?? metadata.namespace,
          uid,
        },
        spec: { containers: [], terminationGracePeriodSeconds: Number.isFinite(grace) ? grace : 30 },
      },
      false,
    )
  }

  /** Folders of pods that are neither in the API nor in the runtime. */
  async #removeLeftFolders(): Promise<void> {
    const { rootDir, volumes, log } = this.#context
    const names = await readdir(path.join(rootDir, 'pods')).catch(() => [])
    for (const uid of names) {
      if (this.#workers.has(uid)) continue
      await new PodVolumes(volumes, podDirectory(rootDir, uid)).removeAll(uid).catch((error: unknown) => {
        log.warn('what is left of a pod could not be removed', { uid, error })
      })
    }
  }

  /** The runtime's events, for as long as this kubelet lives; after a break everything is looked at. */
  async #watch(): Promise<void> {
    const { runtime, clock, log } = this.#context
    const { signal } = this.#stop
    void this.#relist()
    while (!signal.aborted) {
      try {
        for await (const { sandboxId } of runtime.events(signal)) await this.#wake(sandboxId)
      } catch (error) {
        if (!signal.aborted) log.warn('the events of the container runtime broke off', { error: String(error) })
      }
      await clock.sleep(1000, signal).catch(() => {})
      this.#wakeAll()
    }
  }

  async #relist(): Promise<void> {
    const { clock } = this.#context
    const { signal } = this.#stop
    for (;;) {
      await clock.sleep(RELIST, signal).catch(() => {})
      if (signal.aborted) return
      this.#wakeAll()
    }
  }

  #wakeAll(): void {
    for (const worker of this.#workers.values()) worker.runtimeChanged()
  }

  async #wake(sandboxId: string): Promise<void> {
    const uid = this.#sandboxes.get(sandboxId) ?? (await this.#ownerOf(sandboxId))
    if (uid !== undefined) this.#workers.get(uid)?.runtimeChanged()
  }

  async #ownerOf(sandboxId: string): Promise<string | undefined> {
    const [sandbox] = await this.#context.runtime.listPodSandbox({ id: sandboxId })
    const uid = sandbox?.labels[POD_UID_LABEL]
    if (uid === undefined) return undefined
    // Sandboxes come and go; those of pods that are gone are forgotten when there are many.
    if (this.#sandboxes.size > 2 * this.#workers.size + 100)
      for (const [id, owner] of this.#sandboxes) if (!this.#workers.has(owner)) this.#sandboxes.delete(id)
    this.#sandboxes.set(sandboxId, uid)
    return uid
  }
}

const byAge = (a: Pod, b: Pod) =>
  (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '') ||
  (a.metadata.name ?? '').localeCompare(b.metadata.name ?? '')
