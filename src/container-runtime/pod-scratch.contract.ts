/** Pods for the tests of a runtime: made by the test, gone after it, whatever happens in between. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { afterEach, expect } from 'vitest'
import type { ContainerConfig } from './container-config.ts'
import { type ContainerChanges, containerConfig, type SandboxChanges, sandboxConfig } from './pod-configs.contract.ts'
import type { ContainerRuntime, ContainerStatus, ExecOptions } from './runtime.ts'
import type { PodSandboxConfig } from './sandbox-config.ts'

export interface RuntimeUnderTest extends AsyncDisposable {
  readonly runtime: ContainerRuntime
  /** The id of an image with busybox's programs, `sh` among them, and its name. */
  readonly imageId: string
  readonly image: string
}

export interface PodScratch {
  readonly runtime: ContainerRuntime
  readonly logDirectory: string
  sandbox(changes?: SandboxChanges): Promise<{ id: string; config: PodSandboxConfig }>
  container(command: readonly string[], changes?: ContainerChanges): ContainerConfig
  /** A container of its own pod, started. */
  start(command: readonly string[], changes?: ContainerChanges, sandbox?: SandboxChanges): Promise<string>
  /** Starts it, waits for its end. */
  run(command: readonly string[], changes?: ContainerChanges, sandbox?: SandboxChanges): Promise<Finished>
  exited(id: string): Promise<ContainerStatus>
  output(id: string): Promise<string>
  exec(id: string, command: readonly string[], options?: Partial<ExecOptions>): Promise<Executed>
}

export interface Finished {
  readonly id: string
  readonly status: ContainerStatus
  readonly output: string
}

export interface Executed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export function podScratch(under: () => RuntimeUnderTest): () => PodScratch {
  let cleanups: (() => Promise<unknown> | unknown)[] = []
  afterEach(async () => {
    const all = cleanups.reverse()
    cleanups = []
    // One that fails must not keep the rest: what is left would disturb the tests after this one.
    const failures: unknown[] = []
    for (const cleanup of all) {
      try {
        await cleanup()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  })
  return () => {
    const logDirectory = mkdtempSync(path.join(tmpdir(), 'sampan-logs-'))
    cleanups.push(() => rmSync(logDirectory, { recursive: true, force: true }))
    return scratchOf(under(), logDirectory, (cleanup) => cleanups.push(cleanup))
  }
}

function scratchOf(under: RuntimeUnderTest, logDirectory: string, later: (cleanup: () => unknown) => void): PodScratch {
  const { runtime } = under
  const scratch: PodScratch = {
    runtime,
    logDirectory,
    async sandbox(changes) {
      const config = sandboxConfig(logDirectory, changes)
      const id = await runtime.runPodSandbox(config)
      later(() => runtime.removePodSandbox(id))
      return { id, config }
    },
    container: (command, changes = {}) => containerConfig(under, command, changes),
    async start(command, changes, sandboxChanges) {
      const config = scratch.container(command, changes)
      const sandbox = await scratch.sandbox({ ...sandboxChanges, privileged: config.security.privileged })
      const security = { ...config.security, namespaces: sandbox.config.namespaces }
      const id = await runtime.createContainer(sandbox.id, { ...config, security }, sandbox.config)
      await runtime.startContainer(id)
      return id
    },
    async run(command, changes, sandbox) {
      const id = await scratch.start(command, changes, sandbox)
      const status = await scratch.exited(id)
      return { id, status, output: await scratch.output(id) }
    },
    async exited(id) {
      await expect.poll(async () => (await runtime.containerStatus(id)).state, { timeout: 20_000 }).toBe('EXITED')
      return runtime.containerStatus(id)
    },
    output: async (id) => textOf((await runtime.containerStatus(id)).logPath),
    async exec(id, command, options = {}) {
      const session = await runtime.exec(id, { command, stdout: true, stderr: true, ...options })
      const [code, stdout, stderr] = await Promise.all([
        session.exited,
        collect(session.stdout),
        collect(session.stderr),
      ])
      return { code, stdout, stderr }
    },
  }
  return scratch
}

export async function collect(stream: Readable | undefined): Promise<string> {
  if (!stream) return ''
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** What was written, without CRI's columns. */
export function textOf(logPath: string): string {
  let text = ''
  for (const line of readFileSync(logPath, 'utf8').split('\n').slice(0, -1)) {
    const [, , tag, ...rest] = line.split(' ')
    text += rest.join(' ') + (tag === 'F' ? '\n' : '')
  }
  return text
}
