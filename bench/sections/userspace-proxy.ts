import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { LOOPBACK_INDEX } from '../../src/linux/rtnetlink.ts'
import type { Relay } from '../../src/service-proxy/userspace/relay.ts'
import { startRelay } from '../../src/service-proxy/userspace/start-relay.ts'
import { cpuDuring, median, pause } from '../measure.ts'
import { type Row, type Section, us } from '../report.ts'
import { DNSMASQ, HAPROXY, LOAD, nginx, PORTS, SERVER } from '../userspace-proxy/programs.ts'

interface Load {
  readonly kind: 'kept' | 'fresh' | 'bulk' | 'udp'
  readonly what: string
  readonly clients: number
  readonly count: number
  readonly target: number
  readonly peerPort: number
  readonly peer: 'haproxy' | 'nginx'
  readonly goal: string
}

const TURNS = 3

const LOADS: readonly Load[] = [
  {
    ...{ kind: 'kept', what: 'a request on a kept connection', clients: 20, count: 2000 },
    ...{ target: PORTS.echo, peerPort: PORTS.peerEcho, peer: 'haproxy', goal: 'at least 1' },
  },
  {
    ...{ kind: 'fresh', what: 'a new connection', clients: 20, count: 200 },
    ...{ target: PORTS.echo, peerPort: PORTS.peerEcho, peer: 'haproxy', goal: 'at least 0.9' },
  },
  {
    ...{ kind: 'bulk', what: 'a megabyte', clients: 2, count: 1000 },
    ...{ target: PORTS.sink, peerPort: PORTS.peerSink, peer: 'haproxy', goal: 'at least 2' },
  },
  {
    ...{
      kind: 'udp',
      what: 'a question by UDP, its answer; nginx as for DNS (proxy_responses 1)',
      clients: 20,
      count: 2000,
    },
    ...{ target: PORTS.udp, peerPort: PORTS.peerDns, peer: 'nginx', goal: 'at least 2' },
  },
  {
    // Nine tenths of it is the kernel's way of a packet through loopback, four times, which all proxies pay.
    ...{ kind: 'udp', what: 'the same; nginx keeps its sessions', clients: 20, count: 2000 },
    ...{ target: PORTS.udp, peerPort: PORTS.peerUdp, peer: 'nginx', goal: '' },
  },
]

export const userspaceProxySection: Section = {
  name: 'userspace-proxy',
  title: 'Proxy in user space, CPU for each; beside: HAProxy with splice, for UDP nginx',
  async run({ quick }) {
    if (process.getuid?.() !== 0) throw new Error('network namespaces need root')
    await using place = openPlace()
    await place.ready(place.start(process.execPath, ['-e', SERVER]))
    place.start('dnsmasq', DNSMASQ)
    const relay = startRelay({ namespace: place.namespace, clock: systemClock, log: silentLogger })
    try {
      const peers = await startPeers(place)
      const rows: Row[] = []
      for (const load of LOADS) rows.push(await measure(place, relay, peers, quick ? quicker(load) : load))
      return rows
    } finally {
      relay.stop()
    }
  },
}

const quicker = (load: Load): Load => ({ ...load, count: Math.ceil(load.count / 10) })

interface Place extends AsyncDisposable {
  readonly namespace: NetworkNamespace
  readonly folder: string
  start(program: string, args: readonly string[]): ChildProcess
  ready(child: ChildProcess): Promise<void>
}

function openPlace(): Place {
  const linux = kernelLinux()
  const namespace = linux.namespaces.create(`sampan-bench-userspace-${process.pid}`)
  const network = linux.openRtnetlink(namespace)
  network.changeLink(LOOPBACK_INDEX, { up: true })
  network[Symbol.dispose]()
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-bench-userspace-'))
  const children: ChildProcess[] = []
  return {
    namespace,
    folder,
    start(program, args) {
      const child = linux.namespaces.inNamespace(namespace, () =>
        spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] }),
      )
      children.push(child)
      return child
    },
    ready: async (child) => void (await once(child.stdout!, 'data')),
    async [Symbol.asyncDispose]() {
      for (const child of children) if (child.exitCode === null) child.kill('SIGKILL')
      namespace[Symbol.dispose]()
      linux.namespaces.delete(namespace.name)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const PROGRAMS = { haproxy: '/usr/sbin/haproxy', nginx: '/usr/sbin/nginx' } as const
type Peers = Partial<Record<keyof typeof PROGRAMS, number>>

async function startPeers(place: Place): Promise<Peers> {
  const peers: Peers = {}
  const file = (name: string, text: string) => {
    const at = path.join(place.folder, name)
    writeFileSync(at, text)
    return at
  }
  const haproxy = ['-db', '-q', '-f', file('haproxy.cfg', HAPROXY)]
  if (existsSync(PROGRAMS.haproxy)) peers.haproxy = place.start(PROGRAMS.haproxy, haproxy).pid!
  const config = ['-p', place.folder, '-c', file('nginx.conf', nginx(place.folder))]
  if (existsSync(PROGRAMS.nginx)) peers.nginx = place.start(PROGRAMS.nginx, config).pid!
  await pause(500)
  return peers
}

const converse = (place: Place, port: number, { kind, clients, count }: Load) =>
  place.start(process.execPath, ['-e', LOAD, kind, String(port), String(clients), String(count)])

/** As a machine full of resolvers would: each has questions under way. */
function ask(place: Place, port: number, { clients, count }: Load): ChildProcess {
  const questions = path.join(place.folder, 'questions')
  writeFileSync(questions, 'name.test A\n'.repeat(clients * count))
  const options = [
    '-s',
    '127.0.0.1',
    '-p',
    String(port),
    '-d',
    questions,
    '-n',
    '1',
    '-c',
    String(clients),
    '-q',
    '200',
  ]
  const child = place.start('dnsperf', options)
  child.stdout!.resume()
  return child
}

async function measure(place: Place, relay: Relay, peers: Peers, load: Load): Promise<Row> {
  const { kind, clients, count, target, peerPort, what, goal } = load
  const port = await relay.open({
    ...{ id: kind, family: 'IPv4', ip: '127.0.0.1', protocol: kind === 'udp' ? 'UDP' : 'TCP', affinityMs: 0 },
    endpoints: [{ ip: '127.0.0.1', port: target }],
  })
  const cpuOf = async (pid: number, at: number) => {
    const { cpu } = await cpuDuring(pid, async () => {
      const child = kind === 'udp' ? ask(place, at, load) : converse(place, at, load)
      const [code] = await once(child, 'close')
      if (code !== 0) throw new Error(`${what}: the load failed`)
    })
    return cpu / (clients * count)
  }
  const ours: number[] = []
  const theirs: number[] = []
  const peer = peers[load.peer]
  // Both take turns, so that what else the machine does meets both. This process does nothing else meanwhile.
  for (let i = 0; i < TURNS; i++) {
    ours.push(await cpuOf(process.pid, port))
    if (peer !== undefined) theirs.push(await cpuOf(peer, peerPort))
  }
  relay.close(kind)
  const own = us(median(ours))
  if (peer === undefined) return { what, ours: own, peer: `no ${load.peer}`, goal }
  return { what, ours: own, peer: us(median(theirs)), ratio: median(theirs) / median(ours), goal }
}
