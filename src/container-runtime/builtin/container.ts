import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import path from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Cgroups } from '../../linux/cgroups.ts'
import { AGENT_EXECUTABLE, ORPHAN_EXIT_CODE } from '../../linux/syscall-agent.ts'
import type { ContainerState } from '../runtime.ts'
import { codeOfStatus } from './exec.ts'
import { LogWriter } from './log-writer.ts'
import { ContainerOutput } from './output.ts'
import { openFifoReader, signalThrough } from './pipes.ts'
import {
  type ContainerRecord,
  type ExitRecord,
  readRecord,
  removeFolder,
  renameRecord,
  type StartRecord,
  writeRecord,
} from './records.ts'
import { removeGroup } from './remove-group.ts'
import { FILES } from './shim.ts'
import { within } from './within.ts'

export interface ContainerContext {
  readonly clock: Clock
  readonly log: Logger
  readonly cgroups: Cgroups
  onExit(container: BuiltinContainer): void
}

/** How long the last output of an ended container is awaited. */
const DRAIN_MS = 5000
const ADOPT_RETRY_MS = 5
const ADOPT_RETRIES = 400

/** Also if there is no such process any more: how it ended is about to be written. */
function isAgent(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`).startsWith(AGENT_EXECUTABLE)
  } catch {
    return true
  }
}

/** A container of this machine, whether this process started it or found it. */
export class BuiltinContainer {
  readonly record: ContainerRecord
  readonly folder: string
  private readonly context: ContainerContext
  started: StartRecord | undefined
  exit: ExitRecord | undefined
  output: ContainerOutput | undefined
  unenforcedLimits: readonly string[] = []
  private alive: Socket | undefined
  private leaving = false
  /** Resolves when the container has exited and its record says how. */
  readonly exited: Promise<void>
  private settleExited: () => void = () => {}

  constructor(record: ContainerRecord, folder: string, context: ContainerContext) {
    this.record = record
    this.folder = folder
    this.context = context
    this.exited = new Promise((resolve) => {
      this.settleExited = resolve
    })
  }

  get id(): string {
    return this.record.id
  }

  get state(): ContainerState {
    if (this.exit) return 'EXITED'
    return this.started ? 'RUNNING' : 'CREATED'
  }

  /** Reads its output from now on, and learns of its end. The shim must be there. */
  follow(): void {
    const { clock, log } = this.context
    const onLogError = (error: unknown) => log.warn('cannot write a container log', { container: this.id, error })
    this.output = new ContainerOutput(
      this.folder,
      this.record.config.tty,
      new LogWriter(this.record.logPath, clock),
      onLogError,
    )
    this.output.openLog()
    this.alive = openFifoReader(path.join(this.folder, FILES.alive))
    this.alive.on('error', () => {}).resume()
    this.alive.on('close', () => {
      if (!this.leaving && this.started) void this.onEnd()
    })
  }

  /** The program runs. If it has ended already, that is noticed now. */
  onStarted(started: StartRecord): void {
    renameRecord(this.folder, 'starting', 'started')
    this.started = started
    if (this.alive?.destroyed) void this.onEnd()
  }

  /** The program is about to run; should this process end now, the next one can tell whether it did. */
  onPrepared(starting: StartRecord): void {
    writeRecord(this.folder, 'starting', starting)
    this.follow()
  }

  /** What an earlier process of ours has left. */
  async adopt(bootId: string): Promise<void> {
    this.exit = readRecord<ExitRecord>(this.folder, 'exit')
    this.started = readRecord<StartRecord>(this.folder, 'started')
    if (this.exit) {
      this.settleExited()
    } else if (this.record.bootId !== bootId) {
      if (this.started) this.finish({ exitCode: 255, reason: 'Unknown', finishedAt: this.started.startedAt })
    } else if (this.started) {
      this.follow()
    } else if (existsSync(path.join(this.folder, FILES.alive))) {
      await this.adoptStarting()
    }
  }

  /** The process before this one ended at the very start of the container: it runs, or it never will. */
  private async adoptStarting(): Promise<void> {
    const starting = readRecord<StartRecord>(this.folder, 'starting')
    if (starting && (await this.becameProgram(starting.pid))) {
      this.follow()
      this.onStarted(starting)
      return
    }
    this.context.cgroups.kill(this.record.cgroup)
    signalThrough(path.join(this.folder, FILES.release))
  }

  /** An agent that nobody drives ends at once, so this is soon known. */
  private async becameProgram(pid: number): Promise<boolean> {
    for (let i = 0; i < ADOPT_RETRIES; i++) {
      try {
        const status = readFileSync(path.join(this.folder, FILES.exit))
        return codeOfStatus(status.readInt32LE(0)) !== ORPHAN_EXIT_CODE
      } catch {
        if (!isAgent(pid)) return true
      }
      await this.context.clock.sleep(ADOPT_RETRY_MS)
    }
    return false
  }

  /** It never ran. */
  fail(message: string): void {
    this.output?.close()
    this.alive?.destroy()
    signalThrough(path.join(this.folder, FILES.release))
    this.finish({ exitCode: 128, reason: 'StartError', finishedAt: this.context.clock.now(), message })
  }

  /** Stops following, leaves the container running. */
  leave(): void {
    this.leaving = true
    this.output?.close()
    this.alive?.destroy()
  }

  async remove(): Promise<void> {
    this.leave()
    await this.removeGroup()
    await removeFolder(this.folder)
  }

  private async onEnd(): Promise<void> {
    const { cgroups, clock, log } = this.context
    // With the node's or the pod's processes in sight, others of the container may be left, and hold its output open.
    cgroups.kill(this.record.cgroup)
    await within(clock, DRAIN_MS, this.output?.ended)
    if (this.leaving) return
    this.output?.close()
    const oomKilled = cgroups.oomKills(this.record.cgroup) > 0
    this.finish(this.exitRecord(oomKilled))
    signalThrough(path.join(this.folder, FILES.release))
    await this.removeGroup().catch((error) => log.warn('cannot remove a cgroup', { container: this.id, error }))
  }

  private exitRecord(oomKilled: boolean): ExitRecord {
    const file = path.join(this.folder, FILES.exit)
    try {
      const exitCode = codeOfStatus(readFileSync(file).readInt32LE(0))
      const reason = oomKilled ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error'
      // The time of a file is coarser than ours: an end is never before the start.
      const finishedAt = Math.max(statSync(file).mtimeMs, this.started?.startedAt ?? 0)
      return { exitCode, finishedAt, reason }
    } catch {
      // Somebody killed the shim: how the container ended nobody knows.
      return { exitCode: 255, finishedAt: this.context.clock.now(), reason: oomKilled ? 'OOMKilled' : 'Unknown' }
    }
  }

  private finish(exit: ExitRecord): void {
    writeRecord(this.folder, 'exit', exit)
    this.exit = exit
    this.settleExited()
    this.context.onExit(this)
  }

  private removeGroup(): Promise<void> {
    return removeGroup(this.context.cgroups, this.context.clock, this.record.cgroup)
  }
}
