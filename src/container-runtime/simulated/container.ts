import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Clock, Timer } from '../../base/clock.ts'
import type { ContainerConfig, LinuxContainerResources } from '../container-config.ts'
import { type Container, type ContainerState, type ContainerStatus, RuntimeError } from '../runtime.ts'
import type { PodSandboxConfig } from '../sandbox-config.ts'
import type { SimulatedProgram } from '../simulated-runtime.ts'

const SIGTERM_EXIT = 143
const SIGKILL_EXIT = 137

/** One container: CREATED, then RUNNING, then EXITED, never back. */
export class SimulatedContainer {
  readonly id: string
  readonly sandboxId: string
  readonly config: ContainerConfig
  readonly program: SimulatedProgram
  resources: LinuxContainerResources
  readonly #sandbox: PodSandboxConfig
  readonly #clock: Clock
  readonly #onExit: (container: SimulatedContainer) => void
  readonly #createdAt: number
  readonly #timers = new Set<Timer>()
  readonly #waiters: (() => void)[] = []
  #state: ContainerState = 'CREATED'
  #startedAt: number | undefined
  #finishedAt: number | undefined
  #exitCode: number | undefined
  #reason: string | undefined

  constructor(
    id: string,
    sandboxId: string,
    config: ContainerConfig,
    sandbox: PodSandboxConfig,
    program: SimulatedProgram,
    clock: Clock,
    onExit: (container: SimulatedContainer) => void,
  ) {
    this.id = id
    this.sandboxId = sandboxId
    this.config = config
    this.resources = config.resources
    this.program = program
    this.#sandbox = sandbox
    this.#clock = clock
    this.#onExit = onExit
    this.#createdAt = clock.now()
  }

  get state(): ContainerState {
    return this.#state
  }

  start(): void {
    if (this.#state !== 'CREATED')
      throw new RuntimeError('FailedPrecondition', `container ${this.id} is ${this.#state}, not CREATED`)
    const { startError, output, exitAfter, exitCode = 0, reason } = this.program
    if (startError !== undefined) {
      this.#finish(128, 'StartError')
      throw new RuntimeError('Internal', startError, { reason: 'RunContainerError' })
    }
    this.#state = 'RUNNING'
    this.#startedAt = this.#clock.now()
    if (output) this.#write(output)
    if (exitAfter !== undefined) this.#after(exitAfter, () => this.exit(exitCode, reason))
  }

  exit(exitCode: number, reason = exitCode === 0 ? 'Completed' : 'Error'): void {
    if (this.#state !== 'RUNNING') return
    this.#leave()
    this.#finish(exitCode, reason)
  }

  /** The stop signal now, the kill after the grace; whatever ends it first. */
  stop(graceSeconds: number): Promise<void> {
    if (this.#state !== 'RUNNING') return Promise.resolve()
    const { stopAfter = 0, stopExitCode = SIGTERM_EXIT } = this.program
    if (stopAfter <= graceSeconds * 1000) this.#after(stopAfter, () => this.exit(stopExitCode))
    else this.#after(graceSeconds * 1000, () => this.exit(SIGKILL_EXIT))
    return new Promise((resolve) => {
      if (this.#state === 'RUNNING') this.#waiters.push(resolve)
      else resolve()
    })
  }

  kill(): void {
    if (this.#state === 'CREATED') this.#finish(SIGKILL_EXIT, 'Error')
    else this.exit(SIGKILL_EXIT)
  }

  record(): Container {
    const { name, attempt, image, imageId, labels, annotations } = this.config
    const { id, sandboxId } = this
    const createdAt = this.#createdAt
    return { id, sandboxId, name, attempt, image, imageId, state: this.#state, createdAt, labels, annotations }
  }

  status(): ContainerStatus {
    return {
      ...this.record(),
      ...(this.#startedAt !== undefined && { startedAt: this.#startedAt }),
      ...(this.#finishedAt !== undefined && { finishedAt: this.#finishedAt }),
      ...(this.#exitCode !== undefined && { exitCode: this.#exitCode }),
      ...(this.#reason !== undefined && { reason: this.#reason }),
      ...(this.#reason === 'StartError' && { message: this.program.startError }),
      logPath: this.logPath,
    }
  }

  get logPath(): string {
    return path.join(this.#sandbox.logDirectory, this.config.logPath)
  }

  #finish(exitCode: number, reason: string): void {
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
    this.#state = 'EXITED'
    this.#exitCode = exitCode
    this.#reason = reason
    this.#finishedAt = this.#clock.now()
    this.#startedAt ??= this.#finishedAt
    for (const resolve of this.#waiters.splice(0)) resolve()
    this.#onExit(this)
  }

  #after(delay: number, run: () => void): void {
    if (delay === 0) {
      run()
      return
    }
    const timer = this.#clock.after(delay, () => {
      this.#timers.delete(timer)
      run()
    })
    timer.unref()
    this.#timers.add(timer)
  }

  #write(lines: readonly string[]): void {
    mkdirSync(path.dirname(this.logPath), { recursive: true })
    const time = new Date(this.#clock.now()).toISOString().replace('Z', '000000Z')
    appendFileSync(this.logPath, lines.map((line) => `${time} stdout F ${line}\n`).join(''))
  }

  #leave(): void {
    const { leaves } = this.program
    const mount = leaves && this.config.mounts.find(({ containerPath }) => containerPath === leaves.path)
    if (mount) writeFileSync(mount.hostPath, leaves.text)
  }
}
