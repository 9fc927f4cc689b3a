/** The clusters that attempts are made on: pods of root's own runtime, of a plain user, and of containerd. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Pod } from '../../src/api/generated/core-v1.ts'
import { textOf } from '../nodes/conformance-node.ts'
import type { Ran } from '../tools/cluster.ts'
import { kubectl } from '../tools/kubectl.ts'
import { CLI, eventually, Machine } from '../tools/machine.ts'
import { PlainUser } from '../tools/plain-user.ts'
import { Canaries } from './canaries.ts'

export type EnvironmentName = 'builtin' | 'rootless' | 'containerd'

const PLAIN_USER = 54_323
const FLAGS: Readonly<Record<EnvironmentName, readonly string[]>> = {
  builtin: [],
  rootless: [],
  containerd: ['--runtime', 'containerd'],
}

export class Environment implements AsyncDisposable {
  readonly name: EnvironmentName
  readonly machine = new Machine()
  readonly canaries: Canaries
  readonly #user: PlainUser | undefined
  #kubectl = ''
  #isUp = false

  constructor(name: EnvironmentName) {
    this.name = name
    if (name === 'rootless') this.#user = new PlainUser(PLAIN_USER)
    this.canaries = new Canaries(this.dataDir, this.#user?.id ?? 0)
  }

  static async up(name: EnvironmentName): Promise<Environment> {
    const environment = new Environment(name)
    try {
      environment.#kubectl = await kubectl('1.36')
      environment.#isUp = true
      const ran = await environment.sampan('up', '--detach', ...environment.#kubeconfig, ...FLAGS[name])
      if (ran.code !== 0) throw new Error(`sampan up: ${ran.stdout}\n${ran.stderr}\n${environment.machine.logs()}`)
      await environment.ask('wait', '--for=create', 'node/node-1', '--timeout=60s')
      await environment.ask('wait', '--for=condition=Ready', 'node/node-1', '--timeout=60s')
      environment.canaries.guard()
      return environment
    } catch (error) {
      await environment[Symbol.asyncDispose]()
      throw error
    }
  }

  get dataDir(): string {
    return this.#user ? path.join(this.#user.home, 'cluster') : this.machine.dataDir
  }

  get #kubeconfig() {
    return ['--api-port', '0', '--kubeconfig', this.#kubeconfigFile]
  }

  get #kubeconfigFile() {
    return path.join(this.#user?.home ?? this.machine.folder, 'kubeconfig')
  }

  /** A command of the tool, as the cluster's user. */
  sampan(...args: readonly string[]): Promise<Ran> {
    const command = [
      process.execPath,
      this.#user?.program ?? CLI,
      ...args,
      '--name',
      'test',
      '--data-dir',
      this.dataDir,
    ]
    const [program, ...rest] = this.#user ? this.#user.command(...command) : command
    return this.machine.run(program!, rest)
  }

  /** Whatever comes of it. */
  kubectl(args: readonly string[], input = ''): Promise<Ran> {
    return this.machine.run(this.#kubectl, ['--kubeconfig', this.#kubeconfigFile, ...args], input)
  }

  /** A kubectl that goes on until it is ended. */
  startKubectl(...args: readonly string[]) {
    return this.machine.spawn(this.#kubectl, ['--kubeconfig', this.#kubeconfigFile, ...args])
  }

  /** Must succeed. */
  async ask(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl(args)
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stdout}\n${stderr}`)
    return stdout
  }

  async apply(...items: readonly object[]): Promise<void> {
    const { code, stdout, stderr } = await this.kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    )
    if (code !== 0) throw new Error(`kubectl apply: ${stdout}\n${stderr}`)
  }

  async pods(): Promise<Map<string, Pod>> {
    const { items } = JSON.parse(await this.ask('get', 'pods', '-o', 'json')) as { items: Pod[] }
    return new Map(items.map((pod) => [pod.metadata.name ?? '', pod]))
  }

  until(name: string, isRight: (pod: Pod) => boolean, seconds = 60): Promise<Pod> {
    const look = async () => JSON.parse(await this.ask('get', 'pod', name, '-o', 'json')) as Pod
    return eventually(look, isRight, seconds)
  }

  /** What a container wrote, also one of a pod that is being deleted. */
  log(pod: string, container = 'main'): string {
    const logs = path.join(this.dataDir, 'nodes/node-1/kubelet/log/pods')
    const folder = readdirSync(logs).find((name) => name.startsWith(`default_${pod}_`))
    const place = path.join(logs, folder ?? '', container)
    if (!folder || !existsSync(place)) return ''
    const files = readdirSync(place).filter((name) => name.endsWith('.log'))
    return files.map((file) => textOf(readFileSync(path.join(place, file), 'utf8'))).join('')
  }

  /** Runs a program of the host in the network of the node. */
  onNode(program: string, ...args: readonly string[]) {
    const { pid } = JSON.parse(readFileSync(path.join(this.dataDir, 'nodes/node-1/node.json'), 'utf8')) as {
      pid: number
    }
    return this.machine.spawn('nsenter', ['--net', '--target', String(pid), program, ...args])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.#isUp) {
        const down = await this.sampan('down', '--kubeconfig', this.#kubeconfigFile)
        if (down.code !== 0) throw new Error(`sampan down: ${down.stdout}\n${down.stderr}`)
      }
    } finally {
      this.canaries[Symbol.dispose]()
      this.#user?.[Symbol.dispose]()
      await this.machine[Symbol.asyncDispose]()
    }
  }
}
