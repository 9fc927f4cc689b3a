import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import type { Pod } from '../../src/api/generated/core-v1.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { type Cluster, startCluster } from '../../src/cluster/start-cluster.ts'
import type { ContainerRuntime, ExecOptions, ExecSession } from '../../src/container-runtime/runtime.ts'
import { simulatedRuntime } from '../../src/container-runtime/simulated-runtime.ts'
import { startKubelet } from '../../src/kubelet/kubelet.ts'
import type { Mounter } from '../../src/kubelet/mounter.ts'

const PODS = { group: '', version: 'v1', plural: 'pods', namespaced: true }

/** A cluster with one node: its containers are simulated, but what is executed in them runs here. */
export interface StreamingNode extends AsyncDisposable {
  readonly cluster: Cluster
  /** What happened to commands: `resize 80x24`, `close`. */
  readonly happened: string[]
  run(name: string, spec?: Partial<NonNullable<Pod['spec']>>): Promise<void>
}

/** With another runtime its containers are what that makes of them. */
export interface RealContainers {
  readonly runtime: ContainerRuntime
  readonly mounter: Mounter
  readonly image: string
}

export async function startStreamingNode(real?: RealContainers): Promise<StreamingNode> {
  const cluster = await startCluster({ controllers: false, scheduler: false, nodes: [{ name: 'simulated' }] })
  const rootDir = mkdtempSync(path.join(tmpdir(), 'sampan-streaming-'))
  const common = { clock: systemClock, random: systemRandom, log: silentLogger }
  const happened: string[] = []
  const output = Array.from({ length: 10 }, (_, i) => `line ${i + 1}`)
  const simulated = simulatedRuntime({ ...common, program: () => ({ output }) })
  const certificates = await cluster.certificates
  const kubelet = await startKubelet({
    ...common,
    transport: cluster.transport,
    nodeName: 'node-1',
    runtime: real?.runtime ?? withProcesses(simulated, happened),
    ...(real && { mounter: real.mounter }),
    rootDir,
    nodeAddresses: ['127.0.0.1'],
    clusterDns: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    listen: { host: '127.0.0.1', port: 0 },
    tls: {
      ...certificates.issueServer('system:node:node-1', ['system:nodes'], ['127.0.0.1']),
      clientCa: certificates.ca.cert,
    },
    evictionThresholds: { memoryAvailableBytes: 0, diskAvailableFraction: 0, inodesFreeFraction: 0 },
  })
  const pods = cluster.client.resource<Pod>(PODS).namespace('default')
  return {
    cluster,
    happened,
    async run(name, spec = {}) {
      const containers = spec.containers ?? [{ name: 'main', image: real?.image ?? 'busybox' }]
      await pods.create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { nodeName: 'node-1', automountServiceAccountToken: false, ...spec, containers },
      })
      for (let phase = ''; phase !== 'Running'; await systemClock.sleep(20))
        phase = (await pods.get(name)).status?.phase ?? ''
    },
    async [Symbol.asyncDispose]() {
      await kubelet[Symbol.asyncDispose]()
      await simulated[Symbol.asyncDispose]()
      await cluster[Symbol.asyncDispose]()
      rmSync(rootDir, { recursive: true, force: true })
    },
  }
}

/** The same runtime, but with commands, terminals and ports that are real. */
function withProcesses(runtime: ContainerRuntime, happened: string[]): ContainerRuntime {
  const own: Partial<ContainerRuntime> = {
    exec: async (_, options) => execute(options, happened),
    attach: async (_, options) => execute({ ...options, command: ['sh', '-c', 'echo attached; cat'] }, happened),
    portForward: (_, port) => connected(port),
  }
  return new Proxy(runtime, {
    get(target, name) {
      const value = own[name as keyof ContainerRuntime] ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function execute({ command, tty, stdin }: ExecOptions, happened: string[]): Promise<ExecSession> {
  const [program = '', ...args] = tty ? ['script', '-qec', command.map(quoted).join(' '), '/dev/null'] : command
  const child = spawn(program, args, { stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 137))
  })
  exited.catch(() => {})
  await new Promise((resolve, reject) => child.once('spawn', () => resolve(undefined)).once('error', reject))
  return {
    stdin: child.stdin ?? undefined,
    stdout: child.stdout ?? undefined,
    stderr: tty ? undefined : (child.stderr ?? undefined),
    exited,
    async resize({ width, height }) {
      happened.push(`resize ${width}x${height}`)
    },
    async close() {
      if (child.exitCode === null && child.signalCode === null) happened.push(`closed ${command.join(' ')}`)
      child.kill('SIGKILL')
    },
  }
}

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`

function connected(port: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}
