import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from '../../base/clock.ts'
import { endProcess, sendSignal } from '../../base/end-process.ts'
import type { Logger } from '../../base/log.ts'
import { findOwner, isAlive, type ProcessRecord } from '../../base/process-claim.ts'
import type { Linux } from '../../linux/linux.ts'
import { type NodeSettings, nodeClaimPath } from '../node/node-settings.ts'
import { clearNode } from './clear-node.ts'

export interface NodeProcessOptions {
  readonly settings: NodeSettings
  /** The network namespace the process lives in; that of this process unless given. */
  readonly namespace?: string
  /** The program, `sampan-node.js`. */
  readonly entry: string
  readonly linux: Linux
  readonly clock: Clock
  readonly log: Logger
}

/** A node shares its machine with pods: garbage goes early, and native memory is in one place. Together a third of the memory less. */
const FRUGAL = ['--max-semi-space-size=4', '--heap-growing-percent=40']
const FRUGAL_ENV = { MALLOC_ARENA_MAX: '1' }
const CHECK_EVERY = 1000
const STOP_PATIENCE = 60_000

/**
 * The process of one node. It outlives this one: a process that an earlier control plane started is found and kept, and
 * one that ended without being asked is started again.
 */
export class NodeProcess {
  readonly #options: NodeProcessOptions
  #owner: ProcessRecord | undefined
  #child: ChildProcess | undefined
  #check: Timer | undefined
  #isStopping = false

  constructor(options: NodeProcessOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    await this.#ensure()
    this.#watch()
  }

  /** Leaves the process running: another control plane will find it. */
  release(): void {
    this.#isStopping = true
    this.#check?.cancel()
    this.#child?.unref()
  }

  /** Ends the process, and with it the pods of the node and all its rules. */
  async stop(): Promise<void> {
    this.release()
    const { settings, clock, log } = this.#options
    await stopNode(settings, clock, log)
  }

  /** Another process takes over, with what it finds on disk: pods go on. */
  async restart(): Promise<void> {
    const owner = await this.#find()
    if (owner) sendSignal(owner.pid, 'SIGUSR1')
  }

  #find(): Promise<ProcessRecord | undefined> {
    return findOwner(nodeClaimPath(this.#options.settings.dataDir))
  }

  async #ensure(): Promise<void> {
    if (this.#child && this.#child.exitCode === null && this.#child.signalCode === null) return
    this.#owner = await this.#find()
    if (!this.#owner && !this.#isStopping) this.#spawn()
  }

  #watch(): void {
    this.#check = this.#options.clock.after(CHECK_EVERY, () => this.#look())
    this.#check.unref()
  }

  #look(): void {
    const { log, settings } = this.#options
    if (this.#isStopping) return
    this.#check?.cancel()
    this.#check = undefined
    const gone = this.#owner && !isAlive(this.#owner)
    if (gone) log.warn('the process of a node ended', { node: settings.name, pid: this.#owner?.pid })
    this.#ensure()
      .catch((error: unknown) => log.error('a node could not be started', { node: settings.name, error }))
      .finally(() => !this.#isStopping && this.#watch())
  }

  /** At once, unless it had only just started: then something is wrong, and the next look is soon enough. */
  #ended(startedAt: number): void {
    if (this.#check && this.#options.clock.now() - startedAt >= CHECK_EVERY) this.#look()
  }

  #spawn(): void {
    const { settings, entry, clock, log } = this.#options
    mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 })
    const output = openSync(join(settings.dataDir, 'node.log'), 'a', 0o600)
    try {
      this.#child = this.#inItsNetwork(() =>
        spawn(process.execPath, [...FRUGAL, entry, JSON.stringify(settings)], {
          detached: true,
          stdio: ['ignore', output, output],
          cwd: '/',
          env: { ...process.env, ...FRUGAL_ENV },
        }),
      )
      const startedAt = clock.now()
      this.#child.on('exit', () => this.#ended(startedAt))
      this.#child.on('error', (error) => log.error('a node could not be started', { node: settings.name, error }))
      this.#child.unref()
    } finally {
      closeSync(output)
    }
  }

  /** A child starts in the network namespace its parent's thread is in at that moment. */
  #inItsNetwork<T>(work: () => T): T {
    const { namespace, linux } = this.#options
    if (namespace === undefined) return work()
    using inside = linux.namespaces.open(namespace)
    return linux.namespaces.inNamespace(inside, work)
  }
}

/** Asks the process of a node to end, if there is one, waits until it has, and clears away what it left. */
export async function stopNode(node: Pick<NodeSettings, 'name' | 'dataDir'>, clock: Clock, log: Logger): Promise<void> {
  const owner = await findOwner(nodeClaimPath(node.dataDir))
  if (owner && !(await endProcess(owner, STOP_PATIENCE, clock)))
    log.warn('a node did not stop in time', { node: node.name, pid: owner.pid })
  await clearNode(node.dataDir, clock, log)
}
