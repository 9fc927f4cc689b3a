/** A machine of our own: a network namespace in which `sampan up` may do what it likes to the network. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import type { Linux } from '../../src/linux/linux.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { LOOPBACK_INDEX } from '../../src/linux/rtnetlink.ts'
import type { Ran } from './cluster.ts'
import { kubectl } from './kubectl.ts'

export const CLI = process.env.SAMPAN_CLI ?? path.resolve(import.meta.dirname, '..', '..', 'dist', 'bin', 'sampan.js')
const TIME_LIMIT = 120_000

export class Machine {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'sampan-machine-'))
  readonly linux: Linux = kernelLinux()
  readonly namespace: NetworkNamespace
  readonly env: NodeJS.ProcessEnv
  readonly #cluster = ['--name', 'test', '--data-dir', path.join(this.folder, 'data')]
  #isUp = false

  constructor() {
    this.namespace = this.linux.namespaces.create(path.basename(this.folder).replace('sampan-', ''))
    using network = this.linux.openRtnetlink(this.namespace)
    network.changeLink(LOOPBACK_INDEX, { up: true })
    this.env = { ...process.env, HOME: this.folder, KUBECONFIG: path.join(this.folder, 'kubeconfig'), NO_COLOR: '1' }
  }

  get dataDir(): string {
    return this.#cluster[3]!
  }

  /** Of the cluster: part of the names of its links and namespaces. */
  get id(): string {
    return createHash('sha256').update(this.dataDir).digest('hex').slice(0, 8)
  }

  /** Starts `command` with the network of this machine, or of another. */
  spawn(command: string, args: readonly string[], namespace = this.namespace): ChildProcess {
    return this.linux.namespaces.inNamespace(namespace, () =>
      spawn(command, args, { env: this.env, stdio: ['pipe', 'pipe', 'pipe'] }),
    )
  }

  /** Runs a command as on a node; it must succeed. */
  async onNode(node: string, command: string, ...args: readonly string[]): Promise<string> {
    using namespace = this.linux.namespaces.open(`sampan-${this.id}-${node}`)
    const ran = await this.run(command, args, '', namespace)
    if (ran.code !== 0)
      throw new Error(`${node}: ${command} ${args.join(' ')}: ${ran.code}\n${ran.stdout}\n${ran.stderr}`)
    return ran.stdout
  }

  run(command: string, args: readonly string[], input = '', namespace = this.namespace): Promise<Ran> {
    const child = this.spawn(command, args, namespace)
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
    let stdout = ''
    let stderr = ''
    child.stdout?.on('data', (chunk) => (stdout += chunk))
    child.stderr?.on('data', (chunk) => (stderr += chunk))
    const timer = setTimeout(() => child.kill('SIGKILL'), TIME_LIMIT)
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => {
        clearTimeout(timer)
        resolve({ code: code ?? 137, stdout, stderr })
      })
    })
  }

  /** Runs it and fails unless it succeeds. */
  async must(command: string, ...args: readonly string[]): Promise<string> {
    const ran = await this.run(command, args)
    if (ran.code !== 0) throw new Error(`${command} ${args.join(' ')}: ${ran.code}\n${ran.stdout}\n${ran.stderr}`)
    return ran.stdout
  }

  async up(...args: readonly string[]): Promise<string> {
    this.#isUp = true
    return this.must(
      process.execPath,
      CLI,
      'up',
      '--detach',
      ...this.#cluster,
      '--kubeconfig',
      this.env.KUBECONFIG!,
      ...args,
    )
  }

  async down(...args: readonly string[]): Promise<string> {
    this.#isUp = false
    return this.must(process.execPath, CLI, 'down', ...this.#cluster, '--kubeconfig', this.env.KUBECONFIG!, ...args)
  }

  /** Makes this machine a node of another's cluster, or starts that node again. */
  async join(...args: readonly string[]): Promise<Ran> {
    this.#isUp = true
    return this.run(process.execPath, [CLI, 'join', ...args, '--detach', ...this.#cluster])
  }

  async sampan(...args: readonly string[]): Promise<Ran> {
    return this.run(process.execPath, [CLI, ...args, ...this.#cluster])
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    return this.must(await kubectl('1.36'), ...args)
  }

  async apply(...objects: readonly object[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
    const ran = await this.run(await kubectl('1.36'), ['apply', '-f', '-'], list)
    if (ran.code !== 0) throw new Error(`kubectl apply: ${ran.stdout}\n${ran.stderr}`)
  }

  /** The end of the logs, for a failure. */
  logs(): string {
    const read = (file: string) => {
      try {
        return `--- ${file}\n${readFileSync(path.join(this.dataDir, file), 'utf8').slice(-4000)}`
      } catch {
        return ''
      }
    }
    return [read('server.log'), read('nodes/node-1/node.log'), read('nodes/node-2/node.log')].join('\n')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.#isUp) await this.down()
    } finally {
      this.namespace[Symbol.dispose]()
      this.linux.namespaces.delete(this.namespace.name)
      rmSync(this.folder, { recursive: true, force: true })
    }
  }
}

/** Asks until the answer is right; the last answer tells what was wrong. */
export async function eventually<T>(ask: () => Promise<T>, isRight: (answer: T) => boolean, seconds = 30): Promise<T> {
  let answer: T | undefined
  let failure: unknown
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    try {
      answer = await ask()
      failure = undefined
      if (isRight(answer)) return answer
    } catch (error) {
      failure = error
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw failure ?? new Error(`not in ${seconds} s: ${JSON.stringify(answer)}`)
}
