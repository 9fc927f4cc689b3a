import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/clock.ts'
import type { ContainerConfig, LinuxContainerResources } from '../container-config.ts'
import type { ImageService } from '../image-service.ts'
import {
  type AttachOptions,
  type Container,
  type ContainerEvent,
  type ContainerFilter,
  type ContainerRuntime,
  type ContainerStats,
  type ContainerStatus,
  type ExecOptions,
  type ExecSession,
  type PodSandbox,
  type PodSandboxStats,
  type PodSandboxStatus,
  RuntimeError,
  type RuntimeStatus,
  type RuntimeVersion,
  type SandboxFilter,
} from '../runtime.ts'
import type { PodSandboxConfig } from '../sandbox-config.ts'
import type { Connection } from './connection.ts'
import { unlessMissing } from './errors.ts'
import type { CriEvents } from './events.ts'
import {
  CGROUP_PARENT_ANNOTATION,
  containerOf,
  containerStatsOf,
  containerStatusOf,
  sandboxOf,
  sandboxStatsOf,
  sandboxStatusOf,
} from './from-cri.ts'
import { CONTAINER_STATES } from './messages/container.ts'
import { SANDBOX_STATES } from './messages/sandbox.ts'
import { METHOD } from './methods.ts'
import type { PodCgroups } from './pod-cgroups.ts'
import { STOP_SIGNAL_ANNOTATION, sendSignal, unknownStopSignal } from './stop-signal.ts'
import { CriStreams } from './streams.ts'
import { containerMessage, resourcesMessage, sandboxMessage } from './to-cri.ts'

export interface CriRuntimeParts {
  readonly connection: Connection
  readonly events: CriEvents
  readonly images: ImageService
  readonly cgroups: PodCgroups
  readonly clock: Clock
  /** What an image needs besides its layers. */
  readonly complete?: (config: ContainerConfig, sandbox: PodSandboxConfig) => Promise<ContainerConfig>
}

/** Besides the time a container has to stop. */
const STOP_TIMEOUT = 120_000
const STOP_CHECK = 20

/** A runtime behind a socket that speaks CRI. All state is the runtime's own. */
export class CriRuntime implements ContainerRuntime {
  readonly images: ImageService
  readonly #connection: Connection
  readonly #events: CriEvents
  readonly #cgroups: PodCgroups
  readonly #clock: Clock
  readonly #streams: CriStreams
  readonly #complete: NonNullable<CriRuntimeParts['complete']>
  /** Limits that are set once the container runs. */
  readonly #late = new Map<string, { readonly parent: string; readonly resources: LinuxContainerResources }>()

  constructor({ connection, events, images, cgroups, clock, complete }: CriRuntimeParts) {
    this.images = images
    this.#connection = connection
    this.#events = events
    this.#cgroups = cgroups
    this.#clock = clock
    this.#streams = new CriStreams(connection)
    this.#complete = complete ?? (async (config) => config)
  }

  async version(): Promise<RuntimeVersion> {
    const answer = await this.#connection.call(METHOD.version, {})
    const { runtime_name: name = '', runtime_version: version = '', runtime_api_version: apiVersion = '' } = answer
    return { name, version, apiVersion }
  }

  async status(): Promise<RuntimeStatus> {
    const { status } = await this.#connection.call(METHOD.status, {})
    return {
      conditions: (status?.conditions ?? []).map(({ type = '', status: isMet = false, reason, message }) => ({
        type,
        status: isMet,
        ...(reason && { reason }),
        ...(message && { message }),
      })),
    }
  }

  async runPodSandbox(config: PodSandboxConfig): Promise<string> {
    if (config.namespaces.user) await this.#requireUserNamespaces(config.runtimeHandler ?? '')
    const parent = this.#cgroups.parentOf(config.cgroupParent)
    await this.#cgroups.create(parent, config.resources ?? {})
    const annotations = { ...config.annotations, [CGROUP_PARENT_ANNOTATION]: parent }
    const request = {
      config: sandboxMessage({ ...config, annotations }, parent),
      ...(config.runtimeHandler !== undefined && { runtime_handler: config.runtimeHandler }),
    }
    try {
      const { pod_sandbox_id: id = '' } = await this.#connection.call(METHOD.runPodSandbox, request)
      this.#cgroups.limitPod(parent, config.resources ?? {})
      this.#events.note(id, id, 'STARTED')
      return id
    } catch (error) {
      await this.#cgroups.remove(parent)
      throw error
    }
  }

  async stopPodSandbox(id: string): Promise<void> {
    await this.#connection.call(METHOD.stopPodSandbox, { pod_sandbox_id: id }).catch(unlessMissing)
    for (const container of this.#events.containersOf(id)) this.#events.note(container, id, 'STOPPED')
    this.#events.note(id, id, 'STOPPED')
  }

  async removePodSandbox(id: string): Promise<void> {
    const { status } = (await this.#sandbox(id).catch(unlessMissing)) ?? {}
    await this.stopPodSandbox(id)
    await this.#connection.call(METHOD.removePodSandbox, { pod_sandbox_id: id }).catch(unlessMissing)
    for (const container of this.#events.containersOf(id)) this.#events.note(container, id, 'DELETED')
    this.#events.note(id, id, 'DELETED')
    await this.#cgroups.remove(status?.annotations?.[CGROUP_PARENT_ANNOTATION] ?? '')
  }

  /** Those of its containers are the runtime's own, this group is ours. */
  async updatePodSandboxResources(id: string, resources: LinuxContainerResources): Promise<void> {
    const { status } = await this.#sandbox(id)
    this.#cgroups.update(status?.annotations?.[CGROUP_PARENT_ANNOTATION] ?? '', resources)
  }

  async podSandboxStatus(id: string): Promise<PodSandboxStatus> {
    const { status } = await this.#sandbox(id)
    return sandboxStatusOf(status ?? {})
  }

  async listPodSandbox({ id, state, labels }: SandboxFilter = {}): Promise<readonly PodSandbox[]> {
    const filter = {
      ...(id !== undefined && { id }),
      ...(state !== undefined && { state: { state: SANDBOX_STATES.indexOf(state) } }),
      ...(labels && { label_selector: labels }),
    }
    const { items = [] } = await this.#connection.call(METHOD.listPodSandbox, { filter })
    return items.map(sandboxOf)
  }

  async createContainer(sandboxId: string, config: ContainerConfig, sandbox: PodSandboxConfig): Promise<string> {
    const { stopSignal, resources } = config
    const annotations =
      stopSignal === undefined ? config.annotations : { ...config.annotations, [STOP_SIGNAL_ANNOTATION]: stopSignal }
    await mkdir(path.dirname(path.join(sandbox.logDirectory, config.logPath)), { recursive: true, mode: 0o755 })
    const parent = this.#cgroups.parentOf(sandbox.cgroupParent)
    const completed = await this.#complete(config, sandbox)
    const { container_id: id = '' } = await this.#connection.call(METHOD.createContainer, {
      pod_sandbox_id: sandboxId,
      config: containerMessage({ ...completed, annotations }, this.#cgroups.unified(resources)),
      sandbox_config: sandboxMessage(sandbox, parent),
    })
    if (resources.pidsLimit !== undefined) this.#late.set(id, { parent, resources })
    this.#events.note(id, sandboxId, 'CREATED')
    return id
  }

  async startContainer(id: string): Promise<void> {
    await this.#connection.call(METHOD.startContainer, { container_id: id })
    const late = this.#late.get(id)
    if (late) this.#cgroups.limitProcesses(late.parent, id, late.resources)
    const sandboxId = await this.#sandboxOf(id)
    this.#events.note(id, sandboxId, 'STARTED')
  }

  async stopContainer(id: string, graceSeconds: number): Promise<void> {
    const left = await this.#stopBySignal(id, graceSeconds)
    const timeout = Math.ceil(left)
    const request = { container_id: id, timeout }
    await this.#connection
      .call(METHOD.stopContainer, request, { timeout: timeout * 1000 + STOP_TIMEOUT })
      .catch(unlessMissing)
    const sandboxId = this.#events.sandboxOf(id)
    if (sandboxId !== undefined) this.#events.note(id, sandboxId, 'STOPPED')
  }

  async removeContainer(id: string): Promise<void> {
    const sandboxId = this.#events.sandboxOf(id)
    this.#late.delete(id)
    await this.#connection.call(METHOD.removeContainer, { container_id: id }).catch(unlessMissing)
    if (sandboxId !== undefined) this.#events.note(id, sandboxId, 'DELETED')
  }

  async containerStatus(id: string): Promise<ContainerStatus> {
    const [{ status }, sandboxId] = await Promise.all([
      this.#connection.call(METHOD.containerStatus, { container_id: id }),
      this.#sandboxOf(id),
    ])
    const found = containerStatusOf(status ?? {}, sandboxId)
    const isOutOfMemory = found.state === 'EXITED' && this.#events.wasOutOfMemory(id)
    return isOutOfMemory ? { ...found, reason: 'OOMKilled' } : found
  }

  async listContainers({ id, sandboxId, state, labels }: ContainerFilter = {}): Promise<readonly Container[]> {
    const filter = {
      ...(id !== undefined && { id }),
      ...(sandboxId !== undefined && { pod_sandbox_id: sandboxId }),
      ...(state !== undefined && { state: { state: CONTAINER_STATES.indexOf(state) } }),
      ...(labels && { label_selector: labels }),
    }
    const { containers = [] } = await this.#connection.call(METHOD.listContainers, { filter })
    return containers.map(containerOf)
  }

  async updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void> {
    const linux = { ...resourcesMessage(resources), unified: this.#cgroups.unified(resources) }
    await this.#connection.call(METHOD.updateContainerResources, { container_id: id, linux })
  }

  async reopenContainerLog(id: string): Promise<void> {
    await this.#connection.call(METHOD.reopenContainerLog, { container_id: id })
  }

  exec(id: string, options: ExecOptions): Promise<ExecSession> {
    return this.#streams.exec(id, options)
  }

  attach(id: string, options: AttachOptions): Promise<ExecSession> {
    return this.#streams.attach(id, options)
  }

  portForward(sandboxId: string, port: number): Promise<Duplex> {
    return this.#streams.portForward(sandboxId, port)
  }

  async stats({ id, sandboxId, labels, state }: ContainerFilter = {}): Promise<readonly ContainerStats[]> {
    const filter = {
      ...(id !== undefined && { id }),
      ...(sandboxId !== undefined && { pod_sandbox_id: sandboxId }),
      ...(labels && { label_selector: labels }),
    }
    const [{ stats = [] }, parents] = await Promise.all([
      this.#connection.call(METHOD.listContainerStats, { filter }),
      this.#cgroupParents(),
    ])
    const isWanted = await this.#stateFilter(state)
    return stats
      .filter(({ attributes }) => isWanted(attributes?.id ?? ''))
      .map((one) => {
        const container = one.attributes?.id ?? ''
        const sandbox = this.#events.sandboxOf(container) ?? ''
        const parent = parents.get(sandbox)
        const processes = parent === undefined ? 0 : this.#cgroups.processes(parent, container)
        return containerStatsOf(one, sandbox, processes)
      })
  }

  async sandboxStats(sandboxId?: string): Promise<readonly PodSandboxStats[]> {
    const filter = sandboxId === undefined ? {} : { id: sandboxId }
    const { stats = [] } = await this.#connection.call(METHOD.listPodSandboxStats, { filter })
    return stats.map(sandboxStatsOf)
  }

  events(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    return this.#events.read(signal)
  }

  /** Lets go of the runtime; what it runs goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#events[Symbol.asyncDispose]()
    this.#connection.close()
  }

  #sandbox(id: string) {
    return this.#connection.call(METHOD.podSandboxStatus, { pod_sandbox_id: id })
  }

  /** CRI's status of a container does not name its sandbox. */
  async #sandboxOf(id: string): Promise<string> {
    const known = this.#events.sandboxOf(id)
    if (known !== undefined) return known
    const [found] = await this.listContainers({ id })
    return found?.sandboxId ?? ''
  }

  async #cgroupParents(): Promise<ReadonlyMap<string, string>> {
    const { items = [] } = await this.#connection.call(METHOD.listPodSandbox, {})
    return new Map(items.map(({ id = '', annotations = {} }) => [id, annotations[CGROUP_PARENT_ANNOTATION] ?? '']))
  }

  async #stateFilter(state: ContainerFilter['state']): Promise<(id: string) => boolean> {
    if (state === undefined) return () => true
    const ids = new Set((await this.listContainers({ state })).map(({ id }) => id))
    return (id) => ids.has(id)
  }

  /** A runtime that does not know of stop signals: it is sent from here. What is left of the time to obey. */
  async #stopBySignal(id: string, graceSeconds: number): Promise<number> {
    const request = { container_id: id, verbose: true }
    const status = async () => (await this.#connection.call(METHOD.containerStatus, request).catch(unlessMissing)) ?? {}
    const first = await status()
    const signal = unknownStopSignal(first.status ?? {})
    const { pid } = JSON.parse(first.info?.info ?? '{}') as { pid?: number }
    if (signal === undefined || graceSeconds <= 0 || !sendSignal(pid, signal)) return graceSeconds
    const isRunning = async () => CONTAINER_STATES[(await status()).status?.state ?? 2] === 'RUNNING'
    const end = this.#clock.now() + graceSeconds * 1000
    while (this.#clock.now() < end && (await isRunning())) await this.#clock.sleep(STOP_CHECK)
    return 0
  }

  async #requireUserNamespaces(handler: string): Promise<void> {
    const { runtime_handlers: handlers = [] } = await this.#connection.call(METHOD.status, {})
    const known = handlers.find(({ name = '' }) => name === handler)
    if (!known?.features?.user_namespaces)
      throw new RuntimeError('FailedPrecondition', 'the container runtime does not support user namespaces')
  }
}
