import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { writeFileAtomically } from '../../../base/atomic-file.ts'
import type { Clock, Timer } from '../../../base/clock.ts'
import { endProcess } from '../../../base/end-process.ts'
import type { Logger } from '../../../base/log.ts'
import { findOwner, isAlive, type ProcessRecord } from '../../../base/process-claim.ts'
import { processStartTime } from '../../../base/process-identity.ts'
import { openCgroups } from '../../../linux/cgroups.ts'
import { PROGRAM_FOLDERS } from '../../containerd-programs.ts'

export interface ContainerdProcessOptions {
  readonly program: string
  readonly configuration: string
  readonly logPath: string
  /** Names the process that runs, for whoever comes after this one. */
  readonly claimPath: string
  /** containerd and its shims are in a group of their own below this one. */
  readonly cgroupRoot: string
  /** Starts the program; for a node that is a namespace of this process, in there. */
  readonly start?: ((start: () => ChildProcess) => ChildProcess) | undefined
  readonly clock: Clock
  readonly log: Logger
}

const CHECK_EVERY = 1000
const STOP_PATIENCE = 10_000
const LOG_TAIL = 2000

/** A containerd that outlives this process: found again if it runs, started again if it ends. */
export class ContainerdProcess {
  readonly #options: ContainerdProcessOptions
  #record: ProcessRecord | undefined
  #check: Timer | undefined
  #isReleased = false

  constructor(options: ContainerdProcessOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#record = await findOwner(this.#options.claimPath)
    if (!this.#record) await this.#spawn()
    this.#watch()
  }

  get isAlive(): boolean {
    return this.#record !== undefined && isAlive(this.#record)
  }

  async lastWords(): Promise<string> {
    const text = await readFile(this.#options.logPath, 'utf8').catch(() => '')
    return text.slice(-LOG_TAIL)
  }

  /** Lets it run. */
  release(): void {
    this.#isReleased = true
    this.#check?.cancel()
  }

  async stop(): Promise<void> {
    this.release()
    await stopContainerd(this.#options.claimPath, this.#options.clock)
  }

  async #spawn(): Promise<void> {
    const { program, configuration, logPath, claimPath, cgroupRoot, start = (run) => run() } = this.#options
    const output = openSync(logPath, 'a', 0o600)
    try {
      // Shims look for runc in the path.
      const env = { ...process.env, PATH: [process.env.PATH, ...PROGRAM_FOLDERS].join(':') }
      const stdio = ['ignore' as const, output, output]
      const child = start(() => spawn(program, ['--config', configuration], { detached: true, stdio, cwd: '/', env }))
      await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
      child.unref()
      const pid = child.pid!
      this.#record = { pid, startTime: processStartTime(pid) ?? '' }
      await writeFileAtomically(claimPath, JSON.stringify(this.#record))
      const cgroups = openCgroups({ root: cgroupRoot })
      await cgroups.create('/containerd', {})
      await cgroups.join('/containerd', pid)
    } finally {
      closeSync(output)
    }
  }

  #watch(): void {
    const { clock, log } = this.#options
    this.#check = clock.after(CHECK_EVERY, async () => {
      if (this.#isReleased) return
      if (!this.isAlive) {
        log.warn('containerd ended, and is started again', { pid: this.#record?.pid })
        await this.#spawn().catch((error: unknown) => log.error('containerd could not be started', { error }))
      }
      if (!this.#isReleased) this.#watch()
    })
    this.#check.unref()
  }
}

export async function stopContainerd(claimPath: string, clock: Clock): Promise<void> {
  const record = await findOwner<ProcessRecord>(claimPath)
  if (record) await endProcess(record, STOP_PATIENCE, clock)
  await rm(claimPath, { force: true })
}
