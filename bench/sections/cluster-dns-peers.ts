import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import type { ServiceName } from './cluster-dns-names.ts'

/** A DNS server in a process of its own. */
export interface DnsServer extends AsyncDisposable {
  readonly what: string
  readonly pid: number
  readonly port: number
}

export async function sampanDns(count: number, mode: 'batched' | 'plain'): Promise<DnsServer> {
  const script = path.join(import.meta.dirname, 'sections', 'cluster-dns-server.js')
  const child = spawn(process.execPath, [script, String(count), mode], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = await once(child.stdout, 'data')
  return serverOf(child, mode === 'batched' ? 'ours' : 'ours, Node sockets', Number(String(port).trim()))
}

/** In the form of /etc/hosts. */
function writeHosts(folder: string, names: readonly ServiceName[]): string {
  const hosts = path.join(folder, 'hosts')
  writeFileSync(hosts, names.map(({ address, name }) => `${address} ${name}\n`).join(''))
  return hosts
}

export async function dnsmasq(folder: string, names: readonly ServiceName[]): Promise<DnsServer> {
  const hosts = writeHosts(folder, names)
  const port = await freePort()
  const options = ['-k', '-C', '/dev/null', '--no-resolv', '--no-hosts', '--bind-interfaces', '--user=root', '-x', '']
  const own = [`--addn-hosts=${hosts}`, `--port=${port}`, '--listen-address=127.0.0.1', '--local-ttl=30']
  const child = spawn('dnsmasq', [...options, ...own, '--local=/cluster.local/'], { stdio: 'ignore' })
  return serverOf(child, 'dnsmasq', port)
}

/** Without it answers that there is nothing could not be kept by whoever asked (RFC 2308). */
const SOA = 'cluster.local. 5 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. 1 7200 1800 86400 5'

export async function unbound(folder: string, names: readonly ServiceName[]): Promise<DnsServer> {
  const port = await freePort()
  const config = path.join(folder, 'unbound.conf')
  const data = names.map(({ address, name }) => `  local-data: "${name}. 30 IN A ${address}"\n`).join('')
  writeFileSync(
    config,
    `server:
  interface: 127.0.0.1@${port}
  port: ${port}
  num-threads: 1
  do-daemonize: no
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  logfile: "/dev/null"
  module-config: "iterator"
  access-control: 127.0.0.0/8 allow
  local-zone: "cluster.local." static
  local-data: "${SOA}"
${data}remote-control:
  control-enable: no
`,
  )
  return serverOf(spawn('unbound', ['-d', '-c', config], { stdio: 'ignore' }), 'unbound', port)
}

const GO_LIBRARIES = '/usr/share/gocode'

/** Undefined where there is no Go, Debian's own first, or not the library (Debian's golang-github-miekg-dns-dev). */
export async function miekgDns(folder: string, names: readonly ServiceName[]): Promise<DnsServer | undefined> {
  const program = path.join(import.meta.dirname, 'miekg-server')
  const source = path.resolve(import.meta.dirname, '..', '..', 'bench', 'cluster-dns', 'miekg-server.go')
  const go = ['/usr/bin/go', '/usr/local/go/bin/go'].find((file) => existsSync(file))
  if (!go || !existsSync(path.join(GO_LIBRARIES, 'src', 'github.com', 'miekg', 'dns'))) return undefined
  if (!existsSync(program)) {
    const env = { ...process.env, GO111MODULE: 'off', GOPATH: GO_LIBRARIES, GOFLAGS: '' }
    execFileSync(go, ['build', '-o', program, source], { env, stdio: ['ignore', 'inherit', 'inherit'] })
  }
  const port = await freePort()
  const child = spawn(program, [`127.0.0.1:${port}`, writeHosts(folder, names)], { stdio: 'ignore' })
  return serverOf(child, 'a bare Go server on miekg/dns', port)
}

function serverOf(child: ChildProcess, what: string, port: number): DnsServer {
  return {
    ...{ what, port, pid: child.pid! },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return
      const closed = once(child, 'close')
      child.kill('SIGKILL')
      await closed
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
