import type { Pod, PodStatus } from '../../api/generated/core-v1.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { PodAllocation } from '../pod/allocation.ts'
import { NO_RUNTIME_POD, type RuntimePod, readRuntimePod } from '../pod/runtime-pod.ts'
import { PodProbes } from '../probes/pod-probes.ts'
import type { ProbeType } from '../probes/probe-loop.ts'
import type { ProbeOutcome } from '../probes/run-probe.ts'
import type { WaitingReason } from '../status/container-status.ts'
import { podStatus } from '../status/pod-status.ts'
import { StatusWriter } from '../status/status-writer.ts'
import { PodVolumes } from '../volumes/pod-volumes.ts'
import { podDirectory } from './pod-paths.ts'
import { terminationMessage } from './termination-message.ts'
import { recordContainer, type WorkerContext } from './worker-context.ts'

export interface PodFailure {
  readonly reason: string
  readonly message: string
}

/** Everything that is known of one pod on this node. */
export class PodState {
  readonly uid: string
  readonly context: WorkerContext
  readonly probes: PodProbes
  readonly volumes: PodVolumes
  readonly writer: StatusWriter
  readonly allocation: PodAllocation
  /** Why containers were not started, by their names. */
  readonly failures = new Map<string, WaitingReason>()
  /** The pod as a whole is to end: evicted, past its deadline, not admitted. */
  failure: PodFailure | undefined
  isStopped = false
  /** It runs still, and is to get no more traffic: its node is about to end it. */
  isWithdrawn = false
  runtime: RuntimePod = NO_RUNTIME_POD
  #desired: Pod
  #pod: Pod
  #status: PodStatus | undefined
  #reading: Promise<void> = Promise.resolve()
  #isReadQueued = false

  constructor(context: WorkerContext, pod: Pod, onProbe: (type: ProbeType) => void) {
    this.context = context
    this.uid = pod.metadata.uid ?? ''
    this.#desired = pod
    this.allocation = new PodAllocation(pod)
    this.#pod = this.allocation.of(pod)
    this.volumes = new PodVolumes(context.volumes, podDirectory(context.rootDir, this.uid))
    this.writer = new StatusWriter(context)
    this.writer.see(pod)
    this.probes = new PodProbes({
      context,
      clock: context.clock,
      hostIP: () => context.hostIPs()[0] ?? '',
      onChange: onProbe,
      onUnhealthy: ({ name }, type, outcome) => this.#unhealthy(name, type, outcome),
    })
  }

  /** As the node runs it: with the resources that it has been promised. */
  get pod(): Pod {
    return this.#pod
  }

  /** As it is in the API. */
  get desired(): Pod {
    return this.#desired
  }

  set desired(pod: Pod) {
    this.#desired = pod
    this.#pod = this.allocation.of(pod)
    this.writer.see(pod)
  }

  /** Promises what the pod asks for. */
  allocate(): void {
    this.allocation.allocate(this.#desired)
    this.#pod = this.#desired
  }

  /** What this kubelet said last, or what the API knew before. */
  get status(): PodStatus {
    return this.#status ?? this.#pod.status ?? {}
  }

  /** Asks the runtime. Calls that come while one waits for its turn share its answer. */
  refresh(): Promise<void> {
    if (this.#isReadQueued) return this.#reading
    this.#isReadQueued = true
    const before = this.#reading
    this.#reading = before
      .catch(() => {})
      .then(async () => {
        this.#isReadQueued = false
        const { runtime, rootDir, podLogsDir } = this.context
        const readMessage = (status: Parameters<typeof terminationMessage>[2]) =>
          terminationMessage({ rootDir, podLogsDir, uid: this.uid }, this.#pod, status)
        this.runtime = await readRuntimePod(runtime, this.uid, this.runtime, readMessage)
        if (!this.isStopped) this.probes.sync(this.#pod, this.runtime)
      })
    return this.#reading
  }

  /** Tells the API how the pod is; whether its work is over is the answer. */
  report(): boolean {
    const { clock, runtimeName, hostIPs } = this.context
    const { status, isOver } = podStatus({
      pod: this.#pod,
      previous: this.status,
      runtime: this.runtime,
      runtimeName,
      failures: this.failures,
      allocation: this.allocation,
      probes: this.probes,
      hostIPs: hostIPs(),
      now: clock.now(),
      isStopped: this.isStopped,
      isWithdrawn: this.isWithdrawn,
      ...(this.failure && { failure: this.failure }),
    })
    if (!deepEqual(status, this.#status)) this.#status = status
    this.writer.write(this.#status!)
    return isOver
  }

  #unhealthy(name: string, type: ProbeType, outcome: ProbeOutcome | Error): void {
    const record = (reason: string, message: string) =>
      recordContainer(this.context, this.#pod, { name }, 'Warning', reason, message)
    if (outcome instanceof Error)
      record('Unhealthy', `${type} probe errored and resulted in unknown state: ${outcome.message}`)
    else if (outcome.result === 'Warning') record('ProbeWarning', `${type} probe warning: ${outcome.output}`)
    else record('Unhealthy', `${type} probe failed: ${outcome.output}`)
  }
}
