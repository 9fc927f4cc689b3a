import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { ContainerConfig, LinuxContainerResources } from '../container-config.ts'
import type { ImageContent } from '../image-content.ts'
import { type Container, type ContainerEventType, type ContainerStatus, RuntimeError } from '../runtime.ts'
import type { RuntimeContext } from './builtin-runtime.ts'
import { BuiltinContainer, type ContainerContext } from './container.ts'
import { deviceRules } from './devices.ts'
import type { Passwd } from './identity.ts'
import { imageVolumesOf } from './image-tree.ts'
import {
  type ContainerRecord,
  isStillThere,
  readRecord,
  removeFolder,
  type SandboxRecord,
  type StartRecord,
  writeRecord,
} from './records.ts'
import { killQuietly, startContainerProcess } from './start-container.ts'
import { stopSignal } from './stop-signal.ts'
import { within } from './within.ts'

type Emit = (type: ContainerEventType, containerId: string, sandboxId: string) => void

/** Limits in the words of a pod; shares are a wish, not a limit. */
const LIMITS: Readonly<Record<string, string>> = {
  cpuQuota: 'cpu',
  memoryLimitBytes: 'memory',
  pidsLimit: 'pids',
  hugepageLimits: 'hugepages',
}

/** All containers of this machine, in files and in memory. */
export class Containers {
  private readonly context: RuntimeContext
  private readonly emit: Emit
  private readonly own: ContainerContext
  private readonly all = new Map<string, BuiltinContainer>()
  private readonly bySandbox = new Map<string, Set<BuiltinContainer>>()
  /** Users and groups of images, by their layers: these never change. */
  private readonly passwd = new Map<string, Passwd>()

  /** What an earlier process left is known. */
  readonly recovered: Promise<unknown>

  constructor(context: RuntimeContext, emit: Emit) {
    this.context = context
    this.emit = emit
    const { clock, log, cgroups, records } = context
    const onExit = (container: BuiltinContainer) => emit('STOPPED', container.id, container.record.sandboxId)
    this.own = { clock, log, cgroups, onExit }
    const adopted: Promise<void>[] = []
    for (const id of records.containerIds()) {
      const folder = records.containerFolder(id)
      const record = readRecord<ContainerRecord>(folder, 'container')
      if (!record) adopted.push(removeFolder(folder))
      else adopted.push(this.add(new BuiltinContainer(record, folder, this.own)).adopt(context.bootId))
    }
    this.recovered = Promise.all(adopted)
  }

  get(id: string): BuiltinContainer {
    const container = this.all.get(id)
    if (!container) throw new RuntimeError('NotFound', `container "${id}" not found`)
    return container
  }

  running(id: string): BuiltinContainer {
    const container = this.get(id)
    if (container.state === 'RUNNING') return container
    throw new RuntimeError('FailedPrecondition', `container is in CONTAINER_${container.state} state`)
  }

  find = (id: string) => this.all.get(id)
  values = () => [...this.all.values()]
  ofSandbox = (sandboxId: string) => [...(this.bySandbox.get(sandboxId) ?? [])]

  create(id: string, sandbox: SandboxRecord, config: ContainerConfig): BuiltinContainer {
    const folder = this.context.records.containerFolder(id)
    mkdirSync(folder, { mode: 0o711 })
    const record: ContainerRecord = {
      id,
      sandboxId: sandbox.id,
      config,
      createdAt: this.context.clock.now(),
      bootId: this.context.bootId,
      logPath: path.join(sandbox.config.logDirectory, config.logPath),
      cgroup: `${sandbox.config.cgroupParent}/${id}`,
    }
    try {
      writeRecord(folder, 'container', record)
    } catch (error) {
      removeFolder(folder)
      throw error
    }
    return this.add(new BuiltinContainer(record, folder, this.own))
  }

  async start(container: BuiltinContainer, sandbox: SandboxRecord): Promise<void> {
    const { record, folder } = container
    if (container.state !== 'CREATED')
      throw new RuntimeError('FailedPrecondition', `container is in CONTAINER_${container.state} state`)
    const { images, records, cgroups } = this.context
    try {
      const content = (imageId: string) => images.content(imageId, sandbox.config.annotations)
      const image = await content(record.config.imageId)
      const imageVolumes = new Map<string, ImageContent>()
      for (const id of imageVolumesOf(record.config)) imageVolumes.set(id, await content(id))
      const group = this.makeGroup(container)
      group.catch(() => {})
      const key = image.layers.join(':')
      const passwd = this.passwd.get(key)
      const sandboxFolder = records.sandboxFolder(sandbox.id)
      const onPrepared = (starting: StartRecord) => container.onPrepared(starting)
      const common = { record, folder, sandbox, sandboxFolder, image, imageVolumes, group, onPrepared }
      const start = { ...common, ...(passwd ? { passwd } : {}) }
      const result = await startContainerProcess(this.context, start)
      this.passwd.set(key, result.passwd)
      container.onStarted(result.started)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      container.fail(message)
      cgroups.kill(record.cgroup)
      if (error instanceof RuntimeError) throw error
      throw new RuntimeError('Internal', message, { cause: error })
    }
    this.emit('STARTED', record.id, record.sandboxId)
  }

  private async makeGroup(container: BuiltinContainer): Promise<void> {
    const { cgroups, log, agents, rootless } = this.context
    const { id, cgroup, config } = container.record
    const missing = await cgroups.create(cgroup, config.resources)
    container.unenforcedLimits = missing.flatMap((name) => LIMITS[name] ?? [])
    if (missing.length > 0) log.debug('limits are not enforced on this machine', { container: id, missing })
    // In a user namespace no device file can be made that works, so there is nothing to deny.
    if (config.security.privileged || rootless) return
    if (!(await cgroups.allowDevices(cgroup, deviceRules(config.devices), agents.host)))
      log.debug('access to devices is not limited on this machine', { container: id })
  }

  async stop(container: BuiltinContainer, graceSeconds: number): Promise<void> {
    const { clock, cgroups } = this.context
    const { started, record } = container
    if (container.state !== 'RUNNING' || !started) return
    const signal = (which?: NodeJS.Signals | number) => {
      if (isStillThere(started)) killQuietly(started.pid, which)
    }
    if (graceSeconds > 0) {
      signal(stopSignal(started.stopSignal))
      await within(clock, graceSeconds * 1000, container.exited)
      if (container.exit) return
    }
    signal()
    cgroups.kill(record.cgroup)
    await container.exited
  }

  async remove(container: BuiltinContainer): Promise<void> {
    await container.remove()
    this.all.delete(container.id)
    const siblings = this.bySandbox.get(container.record.sandboxId)
    siblings?.delete(container)
    if (siblings?.size === 0) this.bySandbox.delete(container.record.sandboxId)
  }

  update(container: BuiltinContainer, resources: LinuxContainerResources): void {
    const missing = this.context.cgroups.update(container.record.cgroup, resources)
    if (missing.length > 0) throw new RuntimeError('Internal', `cannot change ${missing.join(', ')}`)
  }

  leave(): void {
    for (const container of this.all.values()) container.leave()
  }

  describe(container: BuiltinContainer): Container {
    const { id, sandboxId, config, createdAt } = container.record
    const { name, attempt, image, imageId, labels, annotations } = config
    const { state } = container
    const imageVolumes = imageVolumesOf(config)
    const common = { id, sandboxId, name, attempt, image, imageId, state, createdAt, labels, annotations }
    return imageVolumes.length > 0 ? { ...common, imageVolumes } : common
  }

  status(container: BuiltinContainer): ContainerStatus {
    const { started, exit, record, unenforcedLimits } = container
    return {
      ...this.describe(container),
      logPath: record.logPath,
      ...(unenforcedLimits.length > 0 && { unenforcedLimits }),
      ...(started ? startedFields(started, exit !== undefined) : {}),
      ...exit,
    }
  }

  private add(container: BuiltinContainer): BuiltinContainer {
    this.all.set(container.id, container)
    const { sandboxId } = container.record
    const siblings = this.bySandbox.get(sandboxId)
    if (siblings) siblings.add(container)
    else this.bySandbox.set(sandboxId, new Set([container]))
    return container
  }
}

function startedFields(started: NonNullable<BuiltinContainer['started']>, ended: boolean) {
  const { uid, gid, groups } = started.process.identity
  const user = { uid, gid, supplementalGroups: groups }
  return { startedAt: started.startedAt, user, ...(ended ? {} : { pid: started.pid }) }
}
