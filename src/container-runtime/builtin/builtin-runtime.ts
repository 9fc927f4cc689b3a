import path from 'node:path'
import type { Duplex } from 'node:stream'
import { SAMPAN_VERSION } from '../../api/version.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import type { Cgroups } from '../../linux/cgroups.ts'
import type { SyscallAgents } from '../../linux/syscall-agent.ts'
import type { ContainerConfig, LinuxContainerResources } from '../container-config.ts'
import { EventStream } from '../event-stream.ts'
import type { ImageContents } from '../image-content.ts'
import type { ImageService } from '../image-service.ts'
import {
  type AttachOptions,
  type Container,
  type ContainerEvent,
  type ContainerEventType,
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
import type { SandboxNetwork } from '../sandbox-network.ts'
import { attachTo } from './attach.ts'
import { Containers } from './containers.ts'
import { execInContainer } from './exec.ts'
import { matchesContainer, matchesSandbox } from './filters.ts'
import { forwardPort } from './port-forward.ts'
import type { Records } from './records.ts'
import { Sandboxes } from './sandboxes.ts'
import { networkStats, WritableUsage } from './stats.ts'

export interface RuntimeContext {
  readonly records: Records
  readonly network: SandboxNetwork
  readonly images: ImageService & ImageContents
  readonly agents: SyscallAgents
  readonly cgroups: Cgroups
  readonly clock: Clock
  readonly log: Logger
  readonly random: Random
  readonly rootless: boolean
  readonly bootId: string
}

export class BuiltinRuntime implements ContainerRuntime {
  readonly images: ImageService
  private readonly context: RuntimeContext
  private readonly stream = new EventStream()
  private readonly sandboxes: Sandboxes
  private readonly containers: Containers
  private readonly usage: WritableUsage

  constructor(context: RuntimeContext) {
    this.context = context
    this.images = context.images
    this.usage = new WritableUsage(context.clock)
    this.sandboxes = new Sandboxes(context)
    this.containers = new Containers(context, (type, containerId, sandboxId) => this.emit(type, containerId, sandboxId))
  }

  /** What was left unfinished by an earlier process is gone. */
  async recovered(): Promise<void> {
    await Promise.all([this.sandboxes.recovered, this.containers.recovered])
  }

  private emit(type: ContainerEventType, containerId: string, sandboxId: string): void {
    this.stream.emit({ type, containerId, sandboxId })
  }

  async version(): Promise<RuntimeVersion> {
    return { name: 'sampan', version: SAMPAN_VERSION, apiVersion: 'v1' }
  }

  async status(): Promise<RuntimeStatus> {
    return {
      conditions: [
        { type: 'RuntimeReady', status: true },
        { type: 'NetworkReady', status: true },
      ],
    }
  }

  async runPodSandbox(config: PodSandboxConfig): Promise<string> {
    const id = this.newId()
    await this.sandboxes.run(id, config)
    this.emit('CREATED', id, id)
    this.emit('STARTED', id, id)
    return id
  }

  async stopPodSandbox(id: string): Promise<void> {
    const record = this.sandboxes.find(id)
    if (!record) return
    const wasReady = this.sandboxes.isReady(record)
    await Promise.all(this.containers.ofSandbox(id).map((container) => this.containers.stop(container, 0)))
    await this.sandboxes.stop(record)
    if (wasReady) this.emit('STOPPED', id, id)
  }

  async removePodSandbox(id: string): Promise<void> {
    if (!this.sandboxes.find(id)) return
    await this.stopPodSandbox(id)
    await Promise.all(this.containers.ofSandbox(id).map((container) => this.removeContainer(container.id)))
    await this.sandboxes.remove(this.sandboxes.get(id))
    this.emit('DELETED', id, id)
  }

  async podSandboxStatus(id: string): Promise<PodSandboxStatus> {
    const record = this.sandboxes.get(id)
    const { ips, netnsPath } = record
    return { ...this.sandboxes.describe(record), ips, ...(netnsPath === undefined ? {} : { netnsPath }) }
  }

  async listPodSandbox(filter?: SandboxFilter): Promise<readonly PodSandbox[]> {
    const all = this.sandboxes.values().map((record) => this.sandboxes.describe(record))
    return all.filter((sandbox) => matchesSandbox(sandbox, filter))
  }

  async createContainer(sandboxId: string, config: ContainerConfig, sandbox: PodSandboxConfig): Promise<string> {
    const record = this.sandboxes.get(sandboxId)
    if (!this.sandboxes.isReady(record))
      throw new RuntimeError('FailedPrecondition', `sandbox container "${sandboxId}" is not running`)
    await this.context.images.content(config.imageId, sandbox.annotations)
    const container = this.containers.create(this.newId(), record, config)
    this.emit('CREATED', container.id, sandboxId)
    return container.id
  }

  async startContainer(id: string): Promise<void> {
    const container = this.containers.get(id)
    await this.containers.start(container, this.sandboxes.get(container.record.sandboxId))
  }

  async stopContainer(id: string, graceSeconds: number): Promise<void> {
    const container = this.containers.find(id)
    if (container) await this.containers.stop(container, graceSeconds)
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.containers.find(id)
    if (!container) return
    await this.containers.stop(container, 0)
    await this.containers.remove(container)
    this.usage.forget(path.join(container.folder, 'upper'))
    this.emit('DELETED', id, container.record.sandboxId)
  }

  async containerStatus(id: string): Promise<ContainerStatus> {
    return this.containers.status(this.containers.get(id))
  }

  async listContainers(filter?: ContainerFilter): Promise<readonly Container[]> {
    const all = this.containers.values().map((container) => this.containers.describe(container))
    return all.filter((container) => matchesContainer(container, filter))
  }

  async updatePodSandboxResources(id: string, resources: LinuxContainerResources): Promise<void> {
    const { config } = this.sandboxes.get(id)
    this.context.cgroups.update(config.cgroupParent, resources)
  }

  async updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void> {
    this.containers.update(this.containers.get(id), resources)
  }

  async reopenContainerLog(id: string): Promise<void> {
    this.containers.running(id).output?.reopenLog()
  }

  async exec(id: string, options: ExecOptions): Promise<ExecSession> {
    const container = this.containers.running(id)
    const { record } = container
    const hostPid = record.config.security.namespaces.pid === 'NODE'
    const ownUsers = this.sandboxes.get(record.sandboxId).config.namespaces.user !== undefined
    const target = { started: container.started!, cgroup: record.cgroup, hostPid, ownUsers }
    return execInContainer(this.context, target, options)
  }

  async attach(id: string, options: AttachOptions): Promise<ExecSession> {
    return attachTo(this.context.agents, this.containers.running(id), options)
  }

  async portForward(sandboxId: string, port: number): Promise<Duplex> {
    const record = this.sandboxes.get(sandboxId)
    if (!this.sandboxes.isReady(record))
      throw new RuntimeError('FailedPrecondition', `sandbox container "${sandboxId}" is not running`)
    return forwardPort(this.context.agents, record.netnsPath, port)
  }

  async stats(filter?: ContainerFilter): Promise<readonly ContainerStats[]> {
    const all = await Promise.all(this.containers.values().map((container) => this.statsOf(container.id, filter)))
    return all.flatMap((stats) => stats ?? [])
  }

  private async statsOf(id: string, filter: ContainerFilter | undefined): Promise<ContainerStats | undefined> {
    const container = this.containers.get(id)
    const { record, folder } = container
    const described = this.containers.describe(container)
    if (described.state !== 'RUNNING' || !matchesContainer(described, filter)) return undefined
    const figures = this.context.cgroups.stats(record.cgroup) ?? NO_FIGURES
    const timestamp = this.context.clock.now()
    const usage = await this.usage.of(path.join(folder, 'upper'))
    return {
      containerId: id,
      sandboxId: record.sandboxId,
      name: record.config.name,
      labels: record.config.labels,
      timestamp,
      ...figures,
      filesystemUsedBytes: usage.bytes,
      filesystemInodesUsed: usage.inodes,
    }
  }

  async sandboxStats(sandboxId?: string): Promise<readonly PodSandboxStats[]> {
    const records = this.sandboxes.values().filter(({ id }) => sandboxId === undefined || id === sandboxId)
    return records.map((record) => {
      const running = this.containers.ofSandbox(record.id).find(({ state }) => state === 'RUNNING')
      const figures = this.context.cgroups.stats(record.config.cgroupParent) ?? NO_FIGURES
      return {
        sandboxId: record.id,
        metadata: record.config.metadata,
        timestamp: this.context.clock.now(),
        cpuNanoseconds: figures.cpuNanoseconds,
        memoryUsageBytes: figures.memoryUsageBytes,
        memoryWorkingSetBytes: figures.memoryWorkingSetBytes,
        processes: figures.processes,
        network: running ? networkStats(running.started!.pid) : [],
      }
    })
  }

  events(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    return this.stream.read(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.containers.leave()
    await this.context.agents[Symbol.asyncDispose]()
  }

  /** 64 hexadecimal digits, as those of other runtimes. */
  private newId(): string {
    return `${this.context.random.uuid()}${this.context.random.uuid()}`.replaceAll('-', '')
  }
}

const NO_FIGURES = {
  cpuNanoseconds: 0,
  memoryUsageBytes: 0,
  memoryWorkingSetBytes: 0,
  memoryRssBytes: 0,
  pageFaults: 0,
  majorPageFaults: 0,
  processes: 0,
}
