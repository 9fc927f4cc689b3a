import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Cgroups } from '../../linux/cgroups.ts'
import type { SyscallAgents } from '../../linux/syscall-agent.ts'
import { type PodSandbox, RuntimeError } from '../runtime.ts'
import type { PodSandboxConfig } from '../sandbox-config.ts'
import type { SandboxNetwork } from '../sandbox-network.ts'
import { endPause, holdPidNamespace } from './pause.ts'
import { makeUserNamespace, ownNetworkPath } from './pod-users.ts'
import { type Records, readRecord, removeFolder, type SandboxRecord, writeRecord } from './records.ts'
import { removeGroup } from './remove-group.ts'
import { keepsNamespaces, makeSandbox, unmountSandbox } from './sandbox.ts'

const pauseGroup = (id: string, { cgroupParent }: PodSandboxConfig) => `${cgroupParent}/${id}`

export interface SandboxContext {
  readonly records: Records
  readonly network: SandboxNetwork
  readonly agents: SyscallAgents
  readonly cgroups: Cgroups
  readonly clock: Clock
  readonly bootId: string
  readonly rootless: boolean
}

/** All sandboxes of this machine, in files and in memory. */
export class Sandboxes {
  private readonly context: SandboxContext
  private readonly all = new Map<string, SandboxRecord>()
  /** Whose namespaces somebody took away while no runtime looked: `down` after a node was killed. */
  private readonly lost = new Set<string>()
  /** What an earlier process left unfinished is gone. */
  readonly recovered: Promise<unknown>

  constructor(context: SandboxContext) {
    this.context = context
    const unfinished: Promise<void>[] = []
    for (const id of context.records.sandboxIds()) {
      const folder = context.records.sandboxFolder(id)
      const record = readRecord<SandboxRecord>(folder, 'sandbox')
      if (record && !keepsNamespaces(folder)) this.lost.add(id)
      // A sandbox without a whole record was never told to anyone.
      if (record) this.all.set(id, record)
      else unfinished.push(this.discard(id, readRecord<PodSandboxConfig>(folder, 'intent')))
    }
    this.recovered = Promise.all(unfinished)
  }

  get(id: string): SandboxRecord {
    const record = this.all.get(id)
    if (!record) throw new RuntimeError('NotFound', `sandbox "${id}" not found`)
    return record
  }

  find = (id: string) => this.all.get(id)
  values = () => [...this.all.values()]

  isReady(record: SandboxRecord): boolean {
    return !record.stopped && record.bootId === this.context.bootId && !this.lost.has(record.id)
  }

  describe(record: SandboxRecord): PodSandbox {
    const { metadata, labels, annotations } = record.config
    const state = this.isReady(record) ? 'READY' : 'NOTREADY'
    return { id: record.id, metadata, state, createdAt: record.createdAt, labels, annotations }
  }

  async run(id: string, config: PodSandboxConfig): Promise<SandboxRecord> {
    const { records, network, agents, cgroups, clock, bootId } = this.context
    const { user } = config.namespaces
    if (user && this.context.rootless)
      throw new RuntimeError('Unimplemented', 'user namespaces of pods need a node that runs as root')
    const folder = records.sandboxFolder(id)
    mkdirSync(folder, { mode: 0o711 })
    try {
      writeRecord(folder, 'intent', config)
      const group = cgroups.create(config.cgroupParent, config.resources ?? {})
      const { metadata, portMappings, annotations } = config
      if (user) await makeUserNamespace(agents, folder, user)
      const made = user && { netnsPath: ownNetworkPath(folder) }
      const attached =
        config.namespaces.network === 'POD'
          ? await network.attach({ sandboxId: id, metadata, portMappings, annotations, ...made })
          : undefined
      await makeSandbox(agents, folder, config, attached?.netnsPath)
      await group
      if (config.namespaces.pid === 'POD') await this.holdPidNamespace(id, config, attached?.netnsPath)
      const record: SandboxRecord = {
        id,
        config,
        createdAt: clock.now(),
        bootId,
        ips: attached?.ips ?? [],
        ...(attached ? { netnsPath: attached.netnsPath } : {}),
        stopped: false,
      }
      this.save(record)
      return record
    } catch (error) {
      await this.discard(id, config).catch(() => {})
      throw error
    }
  }

  async stop(record: SandboxRecord): Promise<void> {
    const { records, network, agents } = this.context
    endPause(records.sandboxFolder(record.id))
    if (record.config.namespaces.pid === 'POD') await this.removeGroup(pauseGroup(record.id, record.config))
    if (record.config.namespaces.network === 'POD') await network.detach(record.id)
    if (record.stopped) return
    await unmountSandbox(agents, records.sandboxFolder(record.id))
    this.save({ ...record, stopped: true })
  }

  async remove(record: SandboxRecord): Promise<void> {
    const { records, cgroups } = this.context
    const { cgroupParent } = record.config
    const others = this.values().filter(({ id }) => id !== record.id)
    // The folder goes last: whoever comes after a kill in between finds it, and goes on.
    if (!others.some(({ config }) => config.cgroupParent === cgroupParent)) await cgroups.remove(cgroupParent)
    this.all.delete(record.id)
    this.lost.delete(record.id)
    await removeFolder(records.sandboxFolder(record.id))
  }

  private async holdPidNamespace(id: string, config: PodSandboxConfig, netnsPath: string | undefined): Promise<void> {
    const { records, agents, cgroups, rootless } = this.context
    const folder = records.sandboxFolder(id)
    const group = pauseGroup(id, config)
    await cgroups.create(group, {})
    const kept = ['uts', ...(config.namespaces.ipc === 'POD' ? ['ipc'] : [])].map((name) => join(folder, 'ns', name))
    const namespaces = netnsPath === undefined ? kept : [...kept, netnsPath]
    const joinGroup = (pid: number) => cgroups.join(group, pid)
    await holdPidNamespace(agents, { folder, namespaces, rootless, joinGroup })
  }

  private removeGroup(group: string): Promise<void> {
    return removeGroup(this.context.cgroups, this.context.clock, group)
  }

  private save(record: SandboxRecord): void {
    writeRecord(this.context.records.sandboxFolder(record.id), 'sandbox', record)
    this.all.set(record.id, record)
  }

  private async discard(id: string, config?: PodSandboxConfig): Promise<void> {
    const { records, network, agents, cgroups } = this.context
    const folder = records.sandboxFolder(id)
    endPause(folder)
    await network.detach(id).catch(() => {})
    await unmountSandbox(agents, folder)
    if (config?.namespaces.pid === 'POD') await this.removeGroup(pauseGroup(id, config))
    if (config) await cgroups.remove(config.cgroupParent)
    await removeFolder(folder)
  }
}
