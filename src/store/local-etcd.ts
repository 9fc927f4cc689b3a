import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A real etcd on the loopback, for tests and benchmarks. */
export interface LocalEtcd {
  readonly endpoint: string
  readonly pid: number
  /** As a crash does. */
  kill(): Promise<void>
}

export interface LocalEtcdCluster extends AsyncDisposable {
  readonly members: readonly LocalEtcd[]
  readonly endpoints: readonly string[]
}

/** Whether there is an etcd to run. In CI it must be there. */
export function etcdMissing(): string | undefined {
  try {
    execFileSync('etcd', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch (error) {
    if (process.env.CI) throw new Error('etcd is needed in CI: apt-get install etcd-server', { cause: error })
    return 'skipped: there is no etcd here; apt-get install etcd-server'
  }
}

/** Files in PEM that make the members speak TLS and ask clients for a certificate. */
export interface LocalEtcdTls {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

export async function startLocalEtcd(count = 1, tls?: LocalEtcdTls): Promise<LocalEtcdCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'sampan-etcd-'))
  const ports = await freePorts(count * 2)
  const scheme = tls ? 'https' : 'http'
  const addresses = Array.from({ length: count }, (_, i) => ({
    name: `m${i}`,
    client: `${scheme}://127.0.0.1:${ports[i * 2]}`,
    peer: `http://127.0.0.1:${ports[i * 2 + 1]}`,
  }))
  const initial = addresses.map(({ name, peer }) => `${name}=${peer}`).join(',')
  const members = addresses.map(({ name, client, peer }) => {
    const options = ['--name', name, '--data-dir', join(directory, name), '--initial-cluster', initial]
    options.push('--listen-client-urls', client, '--advertise-client-urls', client)
    options.push('--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--logger', 'zap')
    options.push('--heartbeat-interval', '50', '--election-timeout', '500', '--log-level', 'error')
    if (tls)
      options.push('--client-cert-auth', '--trusted-ca-file', tls.ca, '--cert-file', tls.cert, '--key-file', tls.key)
    return member(spawn('etcd', options, { stdio: ['ignore', 'ignore', 'ignore'] }), client)
  })
  return {
    members,
    endpoints: addresses.map(({ client }) => client),
    async [Symbol.asyncDispose]() {
      await Promise.all(members.map((one) => one.kill()))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function member(process: ChildProcess, endpoint: string): LocalEtcd {
  const exited = new Promise<void>((resolve) => {
    process.on('exit', () => resolve())
    process.on('error', () => resolve())
  })
  return {
    endpoint,
    pid: process.pid ?? 0,
    kill() {
      process.kill('SIGKILL')
      return exited
    },
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
