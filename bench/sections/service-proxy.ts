import { execFileSync } from 'node:child_process'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import type { Linux } from '../../src/linux/linux.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import type { ProxyNode, ServiceProxyBackend } from '../../src/service-proxy/backend.ts'
import { BACKENDS } from '../../src/service-proxy/backends.ts'
import { ServiceTable } from '../../src/service-proxy/service-table.ts'
import { median } from '../measure.ts'
import { ms, type Row, type Section, us } from '../report.ts'
import {
  clusterIP,
  endpointIP,
  endpointsAt,
  PORT,
  serviceAt,
  sliceAt,
  TARGET_PORT,
} from '../service-proxy/cluster-services.ts'
import { listenAtEndpoints } from '../service-proxy/connect-latency.ts'
import { peerChange, peerRuleset } from '../service-proxy/peer-rules.ts'
import { readyToReachable } from '../service-proxy/ready-to-reachable.ts'

const MANY = 10_000
const SMALL = 1000
const FEW = 10
const CHANGES = 21
const TURNS = 5
const CONNECT_ROUNDS = 60
const ABSENT_ENDPOINT = 2_000_000

const NODE: ProxyNode = {
  nodeIPs: ['192.0.2.1'],
  localDetector: { by: 'cidr', cidrs: ['10.128.0.0/9'] },
  masqueradeAll: false,
  masqueradeBit: 14,
  nodePortAddresses: 'primary',
  serviceCIDRs: [],
}

const two = (value: number) => `${value.toFixed(2)} ms`

export const serviceProxySection: Section = {
  name: 'service-proxy',
  title:
    'Service proxy, nftables, 3 endpoints a Service; beside: nft -f with the layout of kube-proxy, at 1,000 Services',
  async run({ quick }) {
    if (process.getuid?.() !== 0) throw new Error('network namespaces need root')
    const many = quick ? SMALL : MANY
    const linux = kernelLinux()
    const rows: Row[] = []
    // Both take turns, so that what else the machine does meets both.
    const peers: Awaited<ReturnType<typeof measurePeer>>[] = []
    const ours: Measured[] = []
    for (let i = 0; i < TURNS; i++) {
      peers.push(await inNamespace(linux, (namespace) => measurePeer(namespace)))
      ours.push(await inNamespace(linux, (namespace) => measureOurs(linux, namespace, SMALL)))
    }
    const peer = { full: median(peers.map(({ full }) => full)), change: median(peers.map(({ change }) => change)) }
    const small = {
      full: median(ours.map(({ full }) => full)),
      replaced: median(ours.map(({ replaced }) => replaced)),
    }
    const large = await inNamespace(linux, (namespace) => measureOurs(linux, namespace, many))
    const connect = await measureConnect(linux, [0, FEW, many])
    const [none, few, most] = [connect.get(0)!, connect.get(FEW)!, connect.get(many)!]
    const [beside, faster] = [ms(peer.full), (time: number) => peer.full / time]
    rows.push({
      what: `all of ${SMALL} Services`,
      ours: ms(small.full),
      peer: beside,
      ratio: faster(small.full),
      goal: 'at least 5',
    })
    rows.push({ what: `all of ${many} Services`, ours: ms(large.full), peer: '', goal: 'under 1000 ms' })
    rows.push({ what: `a restart at ${many}: compared, nothing written`, ours: ms(large.adopt), peer: '', goal: '' })
    const change = ms(peer.change)
    rows.push({
      what: `one endpoint replaced at ${SMALL}`,
      ours: two(small.replaced),
      peer: change,
      ratio: peer.change / small.replaced,
      goal: 'at least 20',
    })
    rows.push({ what: `one endpoint replaced at ${many}`, ours: two(large.replaced), peer: '', goal: 'under 5 ms' })
    rows.push({ what: `one endpoint more or less at ${many}`, ours: two(large.counted), peer: '', goal: 'under 5 ms' })
    rows.push({
      what: `connect, ${FEW} Services; beside: without any rules`,
      ours: us(few),
      peer: us(none),
      ratio: few / none,
      goal: 'at most 1.6',
    })
    rows.push({
      what: `connect, ${many} Services; beside: ${FEW}`,
      ours: us(most),
      peer: us(few),
      ratio: most / few,
      goal: 'about 1',
    })
    const reachable = await inNamespace(linux, async (namespace) => {
      using listening = await listenAtEndpoints(linux, namespace)
      return await readyToReachable(linux, namespace, listening, quick ? 5 : 50)
    })
    rows.push({
      what: 'a pod is ready until its Service reaches it, p50',
      ours: two(median(reachable)),
      peer: '',
      goal: 'under 50 ms',
    })
    return rows
  },
}

let namespaces = 0

async function inNamespace<T>(linux: Linux, work: (namespace: NetworkNamespace) => Promise<T>): Promise<T> {
  const namespace = linux.namespaces.create(`sampan-bench-${process.pid}-${namespaces++}`)
  try {
    return await work(namespace)
  } finally {
    namespace[Symbol.dispose]()
    linux.namespaces.delete(namespace.name)
  }
}

async function timed(work: () => void | Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function measurePeer({ name }: NetworkNamespace) {
  const nft = (input: string) => void execFileSync('nsenter', [`--net=/run/netns/${name}`, 'nft', '-f', '-'], { input })
  const rules = peerRuleset(SMALL)
  const full = await timed(() => nft(rules))
  const changes: number[] = []
  for (let i = 0; i < 5; i++) {
    const text = peerChange(i, endpointIP(ABSENT_ENDPOINT + i))
    changes.push(await timed(() => nft(text)))
  }
  return { full, change: median(changes) }
}

type Measured = Awaited<ReturnType<typeof measureOurs>>

const openBackend = (linux: Linux, namespace: NetworkNamespace) =>
  BACKENDS.nftables!({ linux, namespace, node: NODE, clock: systemClock, log: silentLogger })

function tableOf(services: number): ServiceTable {
  const table = new ServiceTable({ name: 'here' })
  for (let i = 0; i < services; i++) {
    table.serviceChanged(undefined, serviceAt(i))
    table.endpointSliceChanged(undefined, sliceAt(i))
  }
  table.update()
  return table
}

async function measureOurs(linux: Linux, namespace: NetworkNamespace, services: number) {
  const table = tableOf(services)
  await using backend = openBackend(linux, namespace)
  const full = await timed(() => backend.apply(table, 'all'))
  await using other = openBackend(linux, namespace)
  const adopt = await timed(() => other.apply(table, 'all'))
  const { replaced, counted } = await measureChanges(table, backend)
  return { full, adopt, replaced, counted }
}

/** The time of a first packet by the number of Services, all by turns; 0: no rules, and nothing that follows connections. */
async function measureConnect(linux: Linux, sizes: readonly number[]): Promise<Map<number, number>> {
  const times = new Map(sizes.map((services) => [services, [] as number[]]))
  const connects = new Map<number, () => Promise<number>>()
  const place = (services: number): Promise<void> =>
    inNamespace(linux, async (namespace) => {
      using listening = await listenAtEndpoints(linux, namespace)
      await using backend = services > 0 ? openBackend(linux, namespace) : undefined
      await backend?.apply(tableOf(services), 'all')
      const [ip, port] = services > 0 ? [clusterIP(0), PORT] : [endpointsAt(0)[0]!, TARGET_PORT]
      connects.set(services, () => listening.connect(ip, port))
      const next = sizes[sizes.indexOf(services) + 1]
      if (next !== undefined) return await place(next)
      for (let round = 0; round < CONNECT_ROUNDS; round++) {
        for (const size of sizes) times.get(size)!.push(await connects.get(size)!())
      }
    })
  await place(sizes[0]!)
  return new Map(sizes.map((services) => [services, median(times.get(services)!)]))
}

/** From the event of a slice to the kernel. */
async function measureChanges(table: ServiceTable, backend: ServiceProxyBackend) {
  const old = sliceAt(1)
  const changeTo = (ips: readonly string[]) =>
    timed(async () => {
      table.endpointSliceChanged(old, sliceAt(1, ips))
      await backend.apply(table, table.update())
    })
  const [first, second, third] = endpointsAt(1) as [string, string, string]
  const replaced: number[] = []
  const counted: number[] = []
  for (let i = 0; i < CHANGES; i++) {
    replaced.push(await changeTo([first, second, endpointIP(ABSENT_ENDPOINT + i)]))
  }
  for (let i = 0; i < CHANGES; i++) {
    counted.push(await changeTo(i % 2 === 0 ? [first, second] : [first, second, third]))
  }
  return { replaced: median(replaced), counted: median(counted) }
}
