import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { startTestCluster, type TestCluster } from '../tests/tools/cluster.ts'
import type { LoadJob, LoadResult } from './load-job.ts'
import { pause } from './measure.ts'
import type { PeerJob } from './peer-job.ts'
import type { DecisionRates, Mix } from './scheduler/decisions.ts'
import type { WorkloadReport } from './workload-job.ts'

/** The other processes of the benchmark: the server under test, its peers, and those who load them. */

const execute = promisify(execFile)

/** Runs a load job in a process of its own. */
export async function load(job: LoadJob): Promise<LoadResult> {
  const script = path.join(import.meta.dirname, 'load.js')
  const running = execute(process.execPath, [script], { maxBuffer: 1 << 26 })
  running.child.stdin?.end(JSON.stringify(job))
  return JSON.parse((await running).stdout) as LoadResult
}

/** Runs a workload of the scheduler in a process of its own. */
export const workloadReport = (name: string, scale: number): Promise<WorkloadReport> => workloadJob(name, scale)

/** Decisions alone, likewise. */
export const decisionRates = (nodes: number, pods: number, mix: Mix): Promise<DecisionRates> =>
  workloadJob('decisions', nodes, pods, mix)

async function workloadJob<T>(...args: readonly (string | number)[]): Promise<T> {
  const script = path.join(import.meta.dirname, 'workload-job.js')
  return JSON.parse((await execute(process.execPath, [script, ...args.map(String)])).stdout) as T
}

export interface Server extends AsyncDisposable {
  pid: number
  cluster: TestCluster
}

export async function sampan(options: { store?: 'embedded' | 'memory'; folder?: string } = {}): Promise<Server> {
  const cluster = await startTestCluster(options)
  const pid = cluster.pids()[0]
  if (pid === undefined) throw new Error('no server process found')
  return { pid, cluster, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() }
}

export interface Peer extends AsyncDisposable {
  pid: number
  address: string
}

/** A bare node:http2 server that sends ready bytes, with the certificates of the cluster. */
export async function bareServer(job: PeerJob): Promise<Peer> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'peer-server.js')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(job))
  const [port] = await once(child.stdout, 'data')
  return {
    pid: child.pid as number,
    address: `https://127.0.0.1:${String(port).trim()}`,
    [Symbol.asyncDispose]: () => end(child),
  }
}

export const hasEtcd = () => (process.env.PATH ?? '').split(':').some((folder) => existsSync(path.join(folder, 'etcd')))

/** A real etcd with one member, alone, without TLS: the cheapest it can be. */
export async function etcd(): Promise<Peer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-bench-etcd-'))
  const [client, peer] = [await freePort(), await freePort()]
  const address = `http://127.0.0.1:${client}`
  const child = spawn(
    'etcd',
    [
      '--data-dir',
      folder,
      '--listen-client-urls',
      address,
      '--advertise-client-urls',
      address,
      '--listen-peer-urls',
      `http://127.0.0.1:${peer}`,
      '--initial-advertise-peer-urls',
      `http://127.0.0.1:${peer}`,
      '--initial-cluster',
      `default=http://127.0.0.1:${peer}`,
      '--quota-backend-bytes',
      '8000000000',
    ],
    { stdio: 'ignore' },
  )
  for (let tries = 0; ; tries++) {
    const healthy = await fetch(`${address}/health`)
      .then((answer) => answer.text())
      .catch(() => '')
    if (healthy.includes('"true"')) break
    if (tries > 200 || child.exitCode !== null) throw new Error('etcd does not start')
    await pause(50)
  }
  const dispose = async () => {
    await end(child)
    rmSync(folder, { recursive: true, force: true })
  }
  return { pid: child.pid as number, address, [Symbol.asyncDispose]: dispose }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}
