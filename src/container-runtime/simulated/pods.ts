import { type Duplex, PassThrough, Readable } from 'node:stream'
import type { ContainerConfig, LinuxContainerResources } from '../container-config.ts'
import {
  type AttachOptions,
  type Container,
  type ContainerEvent,
  type ContainerFilter,
  type ContainerStats,
  type ContainerStatus,
  type ExecOptions,
  type ExecSession,
  type PodSandbox,
  type PodSandboxStats,
  type PodSandboxStatus,
  RuntimeError,
  type SandboxFilter,
} from '../runtime.ts'
import type { PodSandboxConfig } from '../sandbox-config.ts'
import type { SimulatedExec, SimulatedRuntime, SimulatedRuntimeOptions } from '../simulated-runtime.ts'
import { SimulatedContainer } from './container.ts'
import { EventFeed } from './event-feed.ts'
import type { SimulatedImages } from './images.ts'

interface Sandbox {
  readonly id: string
  readonly config: PodSandboxConfig
  readonly createdAt: number
  readonly ips: readonly string[]
  state: 'READY' | 'NOTREADY'
}

const MEMORY = 10_000_000
const CPU_PER_SECOND = 10_000_000

export class SimulatedPods implements SimulatedRuntime {
  readonly images: SimulatedImages
  readonly #options: SimulatedRuntimeOptions
  readonly #sandboxes = new Map<string, Sandbox>()
  readonly #containers = new Map<string, SimulatedContainer>()
  readonly #feed = new EventFeed()
  #addresses = 1

  constructor(options: SimulatedRuntimeOptions, images: SimulatedImages) {
    this.#options = options
    this.images = images
  }

  async version() {
    return { name: 'simulated', version: '1.0.0', apiVersion: 'v1' }
  }

  async status() {
    return {
      conditions: [
        { type: 'RuntimeReady', status: true },
        { type: 'NetworkReady', status: true },
      ],
    }
  }

  async runPodSandbox(config: PodSandboxConfig): Promise<string> {
    const failure = this.#options.sandboxError?.()
    if (failure !== undefined) throw new RuntimeError('Internal', failure)
    const id = this.#newId()
    const number = this.#addresses++
    const ips = config.namespaces.network === 'NODE' ? [] : [`10.88.${number >> 8}.${number & 255}`]
    this.#sandboxes.set(id, { id, config, createdAt: this.#options.clock.now(), ips, state: 'READY' })
    this.#feed.publish({ type: 'STARTED', containerId: id, sandboxId: id })
    return id
  }

  async stopPodSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.get(id)
    if (!sandbox || sandbox.state === 'NOTREADY') return
    for (const container of this.#containersOf(id)) container.kill()
    sandbox.state = 'NOTREADY'
    this.#feed.publish({ type: 'STOPPED', containerId: id, sandboxId: id })
  }

  async removePodSandbox(id: string): Promise<void> {
    await this.stopPodSandbox(id)
    for (const container of this.#containersOf(id)) await this.removeContainer(container.id)
    if (this.#sandboxes.delete(id)) this.#feed.publish({ type: 'DELETED', containerId: id, sandboxId: id })
  }

  async podSandboxStatus(id: string): Promise<PodSandboxStatus> {
    const sandbox = this.#sandboxOf(id)
    return { ...describe(sandbox), ips: sandbox.state === 'READY' ? sandbox.ips : [] }
  }

  async listPodSandbox(filter: SandboxFilter = {}): Promise<readonly PodSandbox[]> {
    return [...this.#sandboxes.values()]
      .map(describe)
      .filter(
        (one) =>
          (filter.id === undefined || one.id === filter.id) &&
          (filter.state === undefined || one.state === filter.state) &&
          hasLabels(one.labels, filter.labels),
      )
  }

  async createContainer(sandboxId: string, config: ContainerConfig, sandbox: PodSandboxConfig): Promise<string> {
    const program = this.#options.program?.(config) ?? {}
    if (this.#sandboxOf(sandboxId).state !== 'READY')
      throw new RuntimeError('FailedPrecondition', `sandbox ${sandboxId} is not ready`)
    if (!(await this.images.status(config.imageId)))
      throw new RuntimeError('NotFound', `image ${config.imageId} is not here`)
    if (this.#containersOf(sandboxId).some((one) => isSame(one.config, config)))
      throw new RuntimeError('AlreadyExists', `sandbox ${sandboxId} has a container ${config.name}, ${config.attempt}`)
    if (program.createError !== undefined) throw new RuntimeError('Internal', program.createError)
    const id = this.#newId()
    const onExit = () => this.#feed.publish({ type: 'STOPPED', containerId: id, sandboxId })
    const { clock } = this.#options
    this.#containers.set(id, new SimulatedContainer(id, sandboxId, config, sandbox, program, clock, onExit))
    this.#feed.publish({ type: 'CREATED', containerId: id, sandboxId })
    return id
  }

  async startContainer(id: string): Promise<void> {
    const container = this.#containerOf(id)
    container.start()
    this.#feed.publish({ type: 'STARTED', containerId: id, sandboxId: container.sandboxId })
  }

  async stopContainer(id: string, graceSeconds: number): Promise<void> {
    await this.#containers.get(id)?.stop(graceSeconds)
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#containers.get(id)
    if (!container) return
    container.kill()
    this.#containers.delete(id)
    this.#feed.publish({ type: 'DELETED', containerId: id, sandboxId: container.sandboxId })
  }

  async containerStatus(id: string): Promise<ContainerStatus> {
    return this.#containerOf(id).status()
  }

  async listContainers(filter: ContainerFilter = {}): Promise<readonly Container[]> {
    return this.#filtered(filter).map((container) => container.record())
  }

  async updatePodSandboxResources(id: string): Promise<void> {
    await this.podSandboxStatus(id)
  }

  async updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void> {
    const container = this.#containerOf(id)
    container.resources = { ...container.resources, ...resources }
  }

  async reopenContainerLog(id: string): Promise<void> {
    if (this.#containerOf(id).state !== 'RUNNING')
      throw new RuntimeError('FailedPrecondition', `container ${id} is not running`)
  }

  async exec(id: string, options: ExecOptions): Promise<ExecSession> {
    const container = this.#containerOf(id)
    if (container.state !== 'RUNNING') throw new RuntimeError('FailedPrecondition', `container ${id} is not running`)
    return this.#session(this.#options.exec?.(container.config, options.command) ?? {}, options)
  }

  async attach(id: string, options: AttachOptions): Promise<ExecSession> {
    this.#containerOf(id)
    return this.#session({}, options)
  }

  async portForward(sandboxId: string, _port: number): Promise<Duplex> {
    this.#sandboxOf(sandboxId)
    return new PassThrough()
  }

  async stats(filter: ContainerFilter = {}): Promise<readonly ContainerStats[]> {
    const { clock } = this.#options
    return this.#filtered({ state: 'RUNNING', ...filter }).map((container) => ({
      containerId: container.id,
      sandboxId: container.sandboxId,
      name: container.config.name,
      labels: container.config.labels,
      timestamp: clock.now(),
      cpuNanoseconds: Math.round(((clock.now() - (container.status().startedAt ?? 0)) / 1000) * CPU_PER_SECOND),
      memoryUsageBytes: MEMORY,
      memoryWorkingSetBytes: MEMORY,
      memoryRssBytes: MEMORY,
      pageFaults: 0,
      majorPageFaults: 0,
      processes: 1,
      filesystemUsedBytes: 0,
      filesystemInodesUsed: 0,
    }))
  }

  async sandboxStats(sandboxId?: string): Promise<readonly PodSandboxStats[]> {
    const chosen = [...this.#sandboxes.values()].filter(({ id }) => sandboxId === undefined || id === sandboxId)
    return Promise.all(
      chosen.map(async ({ id, config }) => {
        const containers = await this.stats({ sandboxId: id })
        return {
          sandboxId: id,
          metadata: config.metadata,
          timestamp: this.#options.clock.now(),
          cpuNanoseconds: containers.reduce((sum, one) => sum + one.cpuNanoseconds, 0),
          memoryUsageBytes: containers.reduce((sum, one) => sum + one.memoryUsageBytes, 0),
          memoryWorkingSetBytes: containers.reduce((sum, one) => sum + one.memoryWorkingSetBytes, 0),
          processes: containers.length,
          network: [{ name: 'eth0', rxBytes: 0, rxErrors: 0, txBytes: 0, txErrors: 0 }],
        }
      }),
    )
  }

  events(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    return this.#feed.events(signal)
  }

  exit(containerId: string, exitCode: number, reason?: string): void {
    this.#containerOf(containerId).exit(exitCode, reason)
  }

  resourcesOf(containerId: string): LinuxContainerResources {
    return this.#containerOf(containerId).resources
  }

  configOf(containerId: string): ContainerConfig {
    return this.#containerOf(containerId).config
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of [...this.#sandboxes.keys()]) await this.removePodSandbox(id)
  }

  #session({ exitCode = 0, stdout = '', stderr = '', takes = 0 }: SimulatedExec, options: AttachOptions): ExecSession {
    const ended = takes > 0 ? this.#options.clock.sleep(takes, options.signal).then(() => exitCode) : exitCode
    const exited = Promise.resolve(ended).catch(() => 137)
    return {
      stdin: options.stdin ? new PassThrough().resume() : undefined,
      stdout: options.stdout === false ? undefined : Readable.from([Buffer.from(stdout)]),
      stderr: options.stderr === false || options.tty ? undefined : Readable.from([Buffer.from(stderr)]),
      exited,
      resize: async () => {},
      close: async () => {},
    }
  }

  #filtered(filter: ContainerFilter): SimulatedContainer[] {
    return [...this.#containers.values()].filter(
      (one) =>
        (filter.id === undefined || one.id === filter.id) &&
        (filter.sandboxId === undefined || one.sandboxId === filter.sandboxId) &&
        (filter.state === undefined || one.state === filter.state) &&
        hasLabels(one.config.labels, filter.labels),
    )
  }

  #containersOf(sandboxId: string): SimulatedContainer[] {
    return [...this.#containers.values()].filter((one) => one.sandboxId === sandboxId)
  }

  #sandboxOf(id: string): Sandbox {
    const sandbox = this.#sandboxes.get(id)
    if (!sandbox) throw new RuntimeError('NotFound', `there is no sandbox ${id}`)
    return sandbox
  }

  #containerOf(id: string): SimulatedContainer {
    const container = this.#containers.get(id)
    if (!container) throw new RuntimeError('NotFound', `there is no container ${id}`)
    return container
  }

  #newId(): string {
    const { random } = this.#options
    return (random.uuid() + random.uuid()).replaceAll('-', '')
  }
}

const isSame = (a: ContainerConfig, b: ContainerConfig) => a.name === b.name && a.attempt === b.attempt

const hasLabels = (labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>> = {}) =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value)

function describe({ id, config, state, createdAt }: Sandbox): PodSandbox {
  const { metadata, labels, annotations } = config
  return { id, metadata, state, createdAt, labels, annotations }
}
