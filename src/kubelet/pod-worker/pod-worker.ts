import type { Pod } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { parseTime } from '../../api/meta/time.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { SerialLoop } from '../../base/serial-loop.ts'
import { removeTree } from '../../linux/remove-tree.ts'
import { hasRunning } from '../pod/runtime-pod.ts'
import type { ProbeType } from '../probes/probe-loop.ts'
import { isTerminalPhase } from '../status/pod-phase.ts'
import { podLogDirectory } from './pod-paths.ts'
import { type PodFailure, PodState } from './pod-state.ts'
import { actuate, allocate } from './resize-pod.ts'
import { mountVolumes, runPod } from './run-pod.ts'
import { PodStop } from './stop-pod.ts'
import { podReference, type WorkerContext } from './worker-context.ts'

const FIRST_RETRY = 500
const LONGEST_RETRY = 10_000
/** Who edits a pod often does so twice, and may want to see it before it restarts: so long an image is not changed. */
const EDIT_SETTLES = 300
const DEADLINE_MESSAGE = 'Pod was active on the node longer than the specified deadline'

export interface PodWorkerOptions {
  readonly context: WorkerContext
  readonly pod: Pod
  /** False for what the runtime has of a pod that the API does not know. */
  readonly inApi: boolean
  /** Nothing of the pod is left, neither here nor in the API. */
  readonly onGone: (uid: string) => void
}

/**
 * One pod on this node, from its arrival to its last trace. It looks at what should be and at what the runtime has,
 * does what is missing, and looks again: whatever happened in between, also to this process.
 */
export class PodWorker {
  readonly state: PodState
  readonly #context: WorkerContext
  readonly #onGone: (uid: string) => void
  readonly #loop: SerialLoop
  #inApi: boolean
  #isAdmitted = false
  #areVolumesStale = false
  #settledAt = 0
  /** Aborted when what is being started should not be any more. */
  #running = new AbortController()
  #stop: PodStop | undefined
  #graceSeconds: number | undefined

  constructor({ context, pod, inApi, onGone }: PodWorkerOptions) {
    this.#context = context
    this.#inApi = inApi
    this.#onGone = onGone
    this.state = new PodState(context, pod, (type) => this.#probed(type))
    this.#loop = new SerialLoop({
      clock: context.clock,
      run: () => this.#sync(),
      onError: (error) => context.log.debug('a pod could not be moved on', { pod: pod.metadata.name, error }),
      retry: { first: FIRST_RETRY, longest: LONGEST_RETRY },
    })
    if (inApi) context.source.refer(pod)
    this.#loop.wake()
  }

  /** Takes part in what the node has to offer. */
  get isActive(): boolean {
    return this.#isAdmitted && !this.state.isStopped
  }

  /** The pod changed in the API. */
  update(pod: Pod): void {
    const isOwnEcho = !asksForMore(this.state.desired, pod)
    if (hasOtherImages(this.state.desired, pod)) this.#settledAt = this.#context.clock.now() + EDIT_SETTLES
    this.state.desired = pod
    if (isOwnEcho) {
      // Others may have set conditions that readiness gates wait for.
      if (!this.state.isStopped && this.#isAdmitted) this.state.report()
      return
    }
    this.#areVolumesStale = true
    if (!this.#mustEnd()) this.#context.source.refer(pod)
    this.#interrupt()
  }

  /** The pod is gone from the API. */
  remove(): void {
    this.#inApi = false
    this.#interrupt()
  }

  /** Something of it changed in the runtime. While the loop is at work the status does not wait for it. */
  runtimeChanged(): void {
    if (this.#loop.isRunning && !this.state.isStopped)
      void this.state.refresh().then(
        () => this.state.isStopped || this.state.report(),
        () => {},
      )
    this.#loop.wake()
  }

  /** A ConfigMap or Secret that it refers to changed. */
  sourceChanged(): void {
    this.#areVolumesStale = true
    this.#loop.wake()
  }

  /** Another pod has left the node: there may be room now for what was refused. */
  roomFreed(): void {
    if (this.state.allocation.pending) this.#loop.wake()
  }

  /** Ends the pod for good, as failed. */
  fail(failure: PodFailure, graceSeconds?: number): void {
    if (this.state.failure || this.#mustEnd()) return
    this.state.failure = failure
    this.#graceSeconds = graceSeconds
    this.#interrupt()
  }

  /** From now on it is not ready, though it runs; resolves when the API knows. */
  async withdraw(): Promise<void> {
    this.state.isWithdrawn = true
    if (this.state.isStopped || !this.#isAdmitted) return
    this.state.report()
    await this.state.writer.written()
  }

  /** Lets go of the pod without touching it. */
  async detach(): Promise<void> {
    this.#running.abort()
    this.state.probes.stop()
    this.state.writer.stop()
    await this.#loop.stop()
  }

  #interrupt(): void {
    if (this.#mustEnd()) {
      this.#running.abort()
      this.#stop?.limit(this.#grace())
    }
    this.#loop.wake()
  }

  #probed(type: ProbeType): void {
    if (this.state.isStopped) return
    this.state.report()
    if (type !== 'Readiness') this.#loop.wake()
  }

  #mustEnd(): boolean {
    const { pod, failure } = this.state
    return (
      !this.#inApi ||
      pod.metadata.deletionTimestamp !== undefined ||
      failure !== undefined ||
      isTerminalPhase(pod.status?.phase)
    )
  }

  async #sync(): Promise<number | undefined> {
    if (this.#mustEnd()) return this.#end()
    await this.state.refresh()
    if (!this.#isAdmitted && !this.#admit()) return this.#end()
    const askAgainAt = allocate(this.state)
    const isOver = this.state.report()
    const deadline = this.#deadline()
    if (deadline !== undefined && deadline <= this.#context.clock.now()) {
      this.state.failure = { reason: 'DeadlineExceeded', message: DEADLINE_MESSAGE }
      this.#context.events.event(podReference(this.state.pod), 'Normal', 'DeadlineExceeded', DEADLINE_MESSAGE)
      return this.#end()
    }
    if (isOver) return this.#end()
    if (this.#settledAt > this.#context.clock.now()) return this.#settledAt
    return this.#run([deadline, askAgainAt])
  }

  async #run(others: readonly (number | undefined)[]): Promise<number | undefined> {
    const { state } = this
    if (this.#running.signal.aborted) this.#running = new AbortController()
    await this.#refreshVolumes()
    const outcome = await runPod(state, this.#running.signal)
    if (outcome.isOver) return this.#end()
    await state.refresh()
    const resizeAt = await actuate(state)
    state.report()
    const times = [outcome.wakeAt, resizeAt, ...others, state.volumes.refreshAt].filter((time) => time !== undefined)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Live updates: files follow what they are made of. */
  async #refreshVolumes(): Promise<void> {
    const { volumes } = this.state
    const isDue = (volumes.refreshAt ?? Number.POSITIVE_INFINITY) <= this.#context.clock.now()
    if (volumes.mounted.size === 0 || (!this.#areVolumesStale && !isDue)) return
    this.#areVolumesStale = false
    await mountVolumes(this.state).catch(() => {})
  }

  /** What was running when this kubelet came up is in already. */
  #admit(): boolean {
    const { pod, runtime } = this.state
    const rejection = runtime.sandboxes.length > 0 ? undefined : this.#context.admit(pod)
    if (!rejection) {
      this.#isAdmitted = true
      if (runtime.sandboxes.length === 0) this.state.allocate()
      return true
    }
    this.#context.events.event(podReference(pod), 'Warning', rejection.reason, rejection.message)
    this.state.failure = { reason: rejection.reason, message: `Pod was rejected: ${rejection.message}` }
    return false
  }

  #deadline(): number | undefined {
    const seconds = this.state.pod.spec?.activeDeadlineSeconds
    const started = parseTime(this.state.status.startTime ?? '')
    return seconds === undefined || started === undefined ? undefined : started + seconds * 1000
  }

  /** At least a second, so that a forced deletion also says goodbye. */
  #grace(): number {
    const { metadata, spec } = this.state.pod
    const wish = metadata.deletionGracePeriodSeconds ?? this.#graceSeconds ?? spec?.terminationGracePeriodSeconds ?? 30
    return Math.max(1, wish)
  }

  /** Stops all of it; then it is gone if it is to be, and stays as it ended if not. */
  async #end(): Promise<undefined> {
    const { state } = this
    if (!state.isStopped) await this.#stopAll()
    const isGoing = !this.#inApi || state.pod.metadata.deletionTimestamp !== undefined
    if (!isGoing) {
      await state.volumes.unmountAll(state.uid)
      return undefined
    }
    await this.#removeTraces()
    if (this.#inApi) await this.#deleteFromApi()
    else this.#onGone(state.uid)
    return undefined
  }

  async #stopAll(): Promise<void> {
    const { state } = this
    state.probes.terminate()
    await state.refresh()
    if (this.#inApi && !isTerminalPhase(state.pod.status?.phase)) state.report()
    this.#stop ??= new PodStop(this.#context)
    this.#stop.limit(this.#grace())
    await this.#stop.run(state.pod, state.runtime)
    await state.refresh()
    if (hasRunning(state.runtime)) throw new Error('something of the pod still runs')
    state.isStopped = true
    state.probes.stop()
    if (!this.#inApi || isTerminalPhase(state.pod.status?.phase)) return
    state.report()
    await state.writer.written()
  }

  async #removeTraces(): Promise<void> {
    const { runtime, podLogsDir, source, puller, restartBackoff, userNamespaces } = this.#context
    const { state } = this
    for (const { id } of state.runtime.sandboxes) await runtime.removePodSandbox(id)
    await state.volumes.removeAll(state.uid)
    await removeTree(podLogDirectory(podLogsDir, state.pod))
    source.forget(state.uid)
    userNamespaces.forget(state.uid)
    puller.forget(state.uid)
    restartBackoff.forgetAll(`${state.uid}_`)
  }

  async #deleteFromApi(): Promise<void> {
    const { namespace = '', name = '', uid = '' } = this.state.pod.metadata
    try {
      const pods = this.#context.client.resource(podKind).namespace(namespace)
      await pods.delete(name, { gracePeriodSeconds: 0, preconditions: { uid } })
    } catch (error) {
      if (!(error instanceof ApiError && (error.code === 404 || error.code === 409))) throw error
    }
  }
}

/** Whether something changed that a kubelet acts on; most changes are echoes of the status it wrote itself. */
function asksForMore(old: Pod, current: Pod): boolean {
  const { metadata: before, status } = old
  const { metadata: after, status: next } = current
  return (
    before.generation !== after.generation ||
    before.deletionTimestamp !== after.deletionTimestamp ||
    before.deletionGracePeriodSeconds !== after.deletionGracePeriodSeconds ||
    isTerminalPhase(status?.phase) !== isTerminalPhase(next?.phase) ||
    !deepEqual(before.labels, after.labels) ||
    !deepEqual(before.annotations, after.annotations) ||
    !deepEqual(old.spec, current.spec)
  )
}

const imagesOf = ({ spec }: Pod) =>
  [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map((one) => one.image)
const hasOtherImages = (old: Pod, current: Pod) => !deepEqual(imagesOf(old), imagesOf(current))
