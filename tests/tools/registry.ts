/** Registries for tests: Debian's docker-registry on a port of its own, and what skopeo pushes into it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface RegistryOptions {
  readonly host?: string
  readonly port?: number
  /** More of its configuration, as YAML. */
  readonly config?: string
  /** Starts a process elsewhere, such as in a network namespace. */
  readonly start?: (command: string, args: readonly string[]) => ChildProcess
  /** Tells that it answers; without, it is asked from here. */
  readonly isUp?: (address: string) => Promise<boolean>
}

export class TestRegistry {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'registry-'))
  readonly address: string
  readonly #process: ChildProcess

  private constructor(host: string, port: number, options: RegistryOptions) {
    this.address = `${host}:${port}`
    const config = path.join(this.folder, 'config.yml')
    const storage = `storage:\n  filesystem:\n    rootdirectory: ${this.folder}/data\n`
    writeFileSync(
      config,
      `version: 0.1\nlog:\n  level: error\n${storage}http:\n  addr: ${this.address}\n${options.config ?? ''}`,
    )
    const start = options.start ?? ((command, args) => spawn(command, args, { stdio: 'ignore' }))
    this.#process = start('docker-registry', ['serve', config])
  }

  static async start(options: RegistryOptions = {}): Promise<TestRegistry> {
    const host = options.host ?? '127.0.0.1'
    const registry = new TestRegistry(host, options.port ?? (await freePort()), options)
    const isUp = options.isUp ?? ((address) => fetch(`http://${address}/v2/`).then(() => true))
    for (let attempt = 0; attempt < 200; attempt++) {
      if (await isUp(registry.address).catch(() => false)) return registry
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await registry[Symbol.asyncDispose]()
    throw new Error('docker-registry does not start')
  }

  /** Copies from an OCI layout (`oci:folder`) or archive, in the form that is asked for. */
  async push(source: string, name: string, ...args: readonly string[]): Promise<string> {
    const reference = `${this.address}/${name}`
    await skopeo('copy', ...args, '--dest-tls-verify=false', source, `docker://${reference}`)
    return reference
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    if (this.#process.exitCode === null && this.#process.kill('SIGKILL')) await ended
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Trusts whatever it copies: these are our own images. */
export async function skopeo(...args: readonly string[]): Promise<void> {
  await run('skopeo', ['--insecure-policy', ...args])
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}
