import type { Duplex } from 'node:stream'
import type { ContainerStatus, Pod } from '../../api/generated/core-v1.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { AttachOptions, ExecOptions, ExecSession } from '../../container-runtime/runtime.ts'
import { type LogOptions, readLog } from '../logs/read-log.ts'
import { historyOf, latestOf, type RuntimeContainer, readySandbox } from '../pod/runtime-pod.ts'
import type { PodWorker } from '../pod-worker/pod-worker.ts'
import type { PodWorkers } from '../pod-worker/pod-workers.ts'
import type { WorkerContext } from '../pod-worker/worker-context.ts'

export interface PodName {
  readonly namespace: string
  readonly name: string
  readonly uid?: string
}

export interface ContainerLogOptions extends LogOptions {
  /** The one before. */
  readonly previous?: boolean
}

const notFound = (message: string) => new ApiError(404, 'NotFound', message)
const badRequest = (message: string) => new ApiError(400, 'BadRequest', message)

/** What others may do with a pod of this node, whichever protocol they speak. Failures are `ApiError`. */
export class PodAccess {
  readonly #workers: PodWorkers
  readonly #context: WorkerContext

  constructor(workers: PodWorkers, context: WorkerContext) {
    this.#workers = workers
    this.#context = context
  }

  /** The pods of the node, each with the status this kubelet last made. */
  pods(): Pod[] {
    return [...this.#workers.all()].map(({ state }) => ({ ...state.pod, status: state.status }))
  }

  async execInContainer(pod: PodName, container: string, options: ExecOptions): Promise<ExecSession> {
    return this.#context.runtime.exec(this.#running(pod, container).id, options)
  }

  async attachToContainer(pod: PodName, container: string, options: AttachOptions): Promise<ExecSession> {
    return this.#context.runtime.attach(this.#running(pod, container).id, options)
  }

  /** One connection to a port on the pod's loopback. */
  async portForward(pod: PodName, port: number): Promise<Duplex> {
    const sandbox = readySandbox(this.#worker(pod).state.runtime)
    if (!sandbox) throw notFound(`pod not found ("${pod.name}_${pod.namespace}")`)
    return this.#context.runtime.portForward(sandbox.id, port)
  }

  /** Whether the container has a terminal, which an attach must know. */
  hasTerminal(pod: PodName, container: string): boolean {
    const { spec } = this.#worker(pod).state.pod
    const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? []), ...(spec?.ephemeralContainers ?? [])]
    return all.find(({ name }) => name === container)?.tty === true
  }

  /** Fails at once if there is no such log; what comes out then is the log. */
  containerLogs(
    pod: PodName,
    container: string,
    options: ContainerLogOptions,
    signal: AbortSignal,
  ): AsyncIterable<Buffer> {
    const worker = this.#worker(pod)
    const chosen = this.#loggedContainer(worker, container, options.previous === true)
    const isOpen = async () => {
      const latest = latestOf(worker.state.runtime, container)
      return latest?.id === chosen.id && latest.state !== 'EXITED'
    }
    const { clock, podLogsDir } = this.#context
    return readLog({ podLogsDir, file: chosen.logPath, clock, signal, isOpen }, options)
  }

  #worker({ namespace, name, uid }: PodName): PodWorker {
    for (const worker of this.#workers.all()) {
      const { metadata } = worker.state.pod
      if (metadata.namespace === namespace && metadata.name === name && (uid === undefined || metadata.uid === uid))
        return worker
    }
    throw notFound(`pod "${name}" not found`)
  }

  #running(pod: PodName, container: string): RuntimeContainer {
    const found = latestOf(this.#worker(pod).state.runtime, container)
    if (found?.state !== 'RUNNING') throw notFound(`container not found ("${container}")`)
    return found
  }

  #loggedContainer({ state }: PodWorker, container: string, previous: boolean): RuntimeContainer {
    const { pod, status, runtime } = state
    const name = pod.metadata.name ?? ''
    const { spec } = pod
    const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? []), ...(spec?.ephemeralContainers ?? [])]
    if (!all.some((one) => one.name === container))
      throw badRequest(`container ${container} is not valid for pod ${name}`)
    const history = historyOf(runtime, container).filter(({ state: is }) => is !== 'CREATED')
    // While it waits to be started again, the last life is both the current and the previous one.
    const isBetween = history[0]?.state === 'EXITED' && waitingOf(status, container) !== undefined
    const found = previous && !isBetween ? history[1] : history[0]
    if (found) return found
    if (previous) throw badRequest(`previous terminated container "${container}" in pod "${name}" not found`)
    const waiting = waitingOf(status, container)
    if (waiting?.reason === undefined) throw badRequest(`container "${container}" in pod "${name}" is not available`)
    const text = IMAGE_REASONS.has(waiting.reason)
      ? `trying and failing to pull image`
      : `waiting to start: ${waiting.reason}`
    throw badRequest(`container "${container}" in pod "${name}" is ${text}`)
  }
}

const IMAGE_REASONS = new Set(['ErrImagePull', 'ImagePullBackOff'])

function waitingOf(status: Pod['status'], container: string): NonNullable<ContainerStatus['state']>['waiting'] {
  const all = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ]
  return all.find(({ name }) => name === container)?.state?.waiting
}
