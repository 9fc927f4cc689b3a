import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import type { Linux } from '../../src/linux/linux.ts'
import { linuxIn } from '../../src/linux/linux-in.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { NETWORK_BACKENDS } from '../../src/pod-network/backends.ts'
import { BridgePodNetwork } from '../../src/pod-network/bridge/bridge-pod-network.ts'
import { CniPodNetwork } from '../../src/pod-network/cni/cni-pod-network.ts'
import { ANNOTATIONS } from '../../src/pod-network/peers/annotations.ts'
import type { Peer, PodNetwork } from '../../src/pod-network/pod-network.ts'
import { SandboxRecords } from '../../src/pod-network/sandboxes/sandbox-records.ts'
import type { Row, Section } from '../report.ts'

const PLUGINS = '/usr/lib/cni'

export const podNetworkSection: Section = {
  name: 'pod-network',
  title: "Pod network; beside: Debian's CNI plugins bridge and host-local",
  async run({ quick }) {
    if (process.getuid?.() !== 0 || !existsSync(path.join(PLUGINS, 'bridge'))) return []
    const linux = kernelLinux()
    const machine = linux.namespaces.create(`bench-${process.pid}`)
    const directory = mkdtempSync(path.join(tmpdir(), 'bench-pod-network-'))
    try {
      return [
        ...(await measurePods(linux, machine, directory, quick ? 20 : 100)),
        ...measurePeers(linuxIn(linux, machine)),
      ]
    } finally {
      machine[Symbol.dispose]()
      linux.namespaces.delete(machine.name)
      rmSync(directory, { recursive: true, force: true })
    }
  },
}

async function measurePods(linux: Linux, machine: NetworkNamespace, directory: string, pods: number): Promise<Row[]> {
  const common = { linux: linuxIn(linux, machine), log: silentLogger, clock: systemClock }
  const bridge = new BridgePodNetwork({
    ...common,
    records: new SandboxRecords(path.join(directory, 'bridge')),
    bridge: 'cni0',
    clusterCIDRs: ['10.244.0.0/16'],
  })
  await bridge.configure({ podCIDRs: ['10.244.1.0/24'], mtu: 1500, uplink: 'lo' })
  const plugins = new CniPodNetwork({
    ...common,
    records: new SandboxRecords(path.join(directory, 'cni')),
    confDir: configuration(directory),
    binDirs: [PLUGINS],
    start: (start) => linux.namespaces.inNamespace(machine, start),
  })
  // In turns, so that both meet the same machine.
  const ours: Times[] = []
  const theirs: Times[] = []
  for (let i = 0; i < pods; i++) {
    ours.push(await onePod(bridge, `bench-${process.pid}-a${i}`))
    theirs.push(await onePod(plugins, `bench-${process.pid}-b${i}`))
  }
  await bridge.cleanup()
  await bridge[Symbol.asyncDispose]()
  return [
    compare('attach a pod', ours, theirs, ({ attach }) => attach, 'at least 5'),
    compare('detach a pod', ours, theirs, ({ detach }) => detach, 'at least 5'),
  ]
}

interface Times {
  readonly attach: number
  readonly detach: number
}

async function onePod(network: PodNetwork, sandboxId: string): Promise<Times> {
  const start = performance.now()
  await network.attach({ namespace: 'default', name: sandboxId, uid: sandboxId, sandboxId })
  const attached = performance.now()
  await network.detach(sandboxId)
  return { attach: attached - start, detach: performance.now() - attached }
}

function compare(what: string, ours: Times[], theirs: Times[], of: (times: Times) => number, goal: string): Row {
  const [mine, peer] = [median(ours.map(of)), median(theirs.map(of))]
  return {
    what: `${what}, p50`,
    ours: `${mine.toFixed(1)} ms`,
    peer: `${peer.toFixed(1)} ms`,
    ratio: peer / mine,
    goal,
  }
}

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!

function configuration(directory: string): string {
  const confDir = path.join(directory, 'net.d')
  mkdirSync(confDir)
  const ipam = { type: 'host-local', dataDir: path.join(directory, 'leases'), subnet: '10.245.1.0/24' }
  const plugin = { type: 'bridge', bridge: 'cni1', isGateway: true, hairpinMode: true, ipam }
  writeFileSync(
    path.join(confDir, '10.conflist'),
    JSON.stringify({ cniVersion: '1.0.0', name: 'n', plugins: [plugin] }),
  )
  return confDir
}

const PEERS = 1000

/** A node of a large cluster starts, starts again, and hears of one change. */
function measurePeers(linux: Linux): Row[] {
  const network = linux.openRtnetlink()
  const uplink = network.addLink({ kind: 'bridge', name: 'uplink', up: true })
  network.addAddress({ link: uplink.index, address: '172.16.255.254/16' })
  const backend = NETWORK_BACKENDS.vxlan({ linux })
  backend.start({
    name: 'self',
    uid: 'self',
    podCIDRs: ['10.0.255.0/24'],
    publicAddresses: ['172.16.255.254'],
    annotations: {},
    uplink,
  })
  const peers = Array.from({ length: PEERS }, (_, i) => peer(i))
  const timed = (work: () => void) => {
    const start = performance.now()
    work()
    return performance.now() - start
  }
  const first = timed(() => backend.setPeers(peers))
  const again = timed(() => backend.setPeers(peers))
  const changes = Array.from({ length: 100 }, (_, i) =>
    timed(() => backend.setPeer(`node${i}`, { ...peer(i + PEERS), name: `node${i}` })),
  )
  backend.stop()
  backend[Symbol.dispose]()
  network[Symbol.dispose]()
  return [
    row(`vxlan, ${PEERS} nodes, first start`, first, 'under 1 s'),
    row(`vxlan, ${PEERS} nodes, start again`, again, 'under 300 ms'),
    row(`vxlan, one node of ${PEERS} changes, p50`, median(changes), 'under 1 ms'),
  ]
}

const row = (what: string, ms: number, goal: string): Row => ({ what, ours: `${ms.toFixed(2)} ms`, peer: '', goal })

function peer(number: number): Peer {
  const [high, low] = [number >> 8, number & 255]
  const hardwareAddress = `02:00:00:00:${high.toString(16).padStart(2, '0')}:${low.toString(16).padStart(2, '0')}`
  return {
    name: `node${number}`,
    podCIDRs: [`10.${high + 1}.${low}.0/24`],
    publicAddresses: [`172.16.${high}.${low}`],
    annotations: {
      [ANNOTATIONS.backendType]: 'vxlan',
      [ANNOTATIONS.backendData]: JSON.stringify({ VNI: 1, VtepMAC: hardwareAddress }),
    },
  }
}
