import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { type ApiServer, startApiServer } from '../apiserver/server.ts'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { type Client, createClient } from '../client/client.ts'
import { type FakeLinux, fakeLinux } from '../linux/fake-linux.ts'
import { NftTransaction } from '../linux/nft-transaction.ts'
import type { Rtnetlink } from '../linux/rtnetlink.ts'
import { openMemoryStore } from '../store/embedded.ts'
import type { Store } from '../store/store.ts'
import { type NodeNetwork, type NodeNetworkOptions, startNodeNetwork } from './node-network.ts'

let store: Store
let server: ApiServer
let client: Client
let linux: FakeLinux
let kernel: Rtnetlink
let stateDir: string
const started: NodeNetwork[] = []

beforeEach(async () => {
  store = await openMemoryStore()
  server = await startApiServer({
    store,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    serviceCidrs: ['10.96.0.0/16'],
  })
  client = createClient(server.transport({ name: 'admin', groups: ['system:masters'] }))
  linux = fakeLinux()
  kernel = linux.openRtnetlink()
  const { index } = kernel.addLink({ kind: 'dummy', name: 'eth0', up: true, mtu: 1500 })
  kernel.addAddress({ link: index, address: '192.168.0.1/24' })
  kernel.addRoute({ destination: '0.0.0.0/0', gateway: '192.168.0.254' })
  stateDir = mkdtempSync(path.join(tmpdir(), 'node-network-'))
})

afterEach(async () => {
  for (const network of started.splice(0)) await network[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
  rmSync(stateDir, { recursive: true, force: true })
})

async function start(options: Partial<NodeNetworkOptions> = {}): Promise<NodeNetwork> {
  const network = await startNodeNetwork({
    transport: client.transport,
    nodeName: 'node1',
    linux,
    backend: 'host-gw',
    clusterCidr: '10.244.0.0/16',
    stateDir,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    ...options,
  })
  started.push(network)
  return network
}

const nodes = () => client.resource(nodeKind)

async function addNode(number: number, podCIDR?: string): Promise<void> {
  const name = `node${number}`
  await nodes().create({ metadata: { name }, spec: podCIDR ? { podCIDR, podCIDRs: [podCIDR] } : {} })
  const addresses = [{ type: 'InternalIP', address: `192.168.0.${number}` }]
  await nodes().patch(name, { status: { addresses } }, { subresource: 'status' })
}

const peerRoutes = () =>
  kernel
    .routes()
    .filter(({ destination }) => destination.startsWith('10.244.'))
    .flatMap(({ destination, gateway }) => (gateway ? [`${destination} ${gateway}`] : []))
    .sort()
const sandbox = { namespace: 'default', name: 'a', uid: 'a', sandboxId: 'a' }

describe('the network of a node', () => {
  test('waits for the CIDR of the node', async () => {
    const network = await start()
    expect(network.notReadyReason).toContain('not registered')
    await addNode(1)
    await expect.poll(() => network.notReadyReason).toBe('node node1 has no pod CIDR yet')
    await expect(network.podNetwork.attach(sandbox)).rejects.toThrow('not ready')
    await nodes().patch('node1', { spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] } })
    await network.ready
    expect(network.notReadyReason).toBeUndefined()
    expect((await network.podNetwork.attach(sandbox)).addresses).toEqual(['10.244.1.2'])
  })

  test('follows the nodes of the cluster', async () => {
    await addNode(1, '10.244.1.0/24')
    await addNode(2, '10.244.2.0/24')
    await start()
    await expect.poll(peerRoutes).toEqual(['10.244.2.0/24 192.168.0.2'])
    await addNode(3, '10.244.3.0/24')
    await expect.poll(peerRoutes).toEqual(['10.244.2.0/24 192.168.0.2', '10.244.3.0/24 192.168.0.3'])
    await nodes().delete('node2')
    await expect.poll(peerRoutes).toEqual(['10.244.3.0/24 192.168.0.3'])
  })

  test('tells others of itself, and again if someone removes it', async () => {
    await addNode(1, '10.244.1.0/24')
    await start({ backend: 'vxlan' })
    const told = async () => (await nodes().get('node1')).metadata.annotations ?? {}
    const { hardwareAddress } = await expect
      .poll(() => kernel.link('sampan.1'))
      .toBeDefined()
      .then(() => kernel.link('sampan.1')!)
    const expected = {
      'flannel.alpha.coreos.com/public-ip': '192.168.0.1',
      'flannel.alpha.coreos.com/backend-data': `{"VNI":1,"VtepMAC":"${hardwareAddress}"}`,
    }
    await expect.poll(told).toMatchObject(expected)
    await nodes().patch('node1', { metadata: { annotations: { 'flannel.alpha.coreos.com/public-ip': null } } })
    await expect.poll(told).toMatchObject(expected)
  })

  test('the size of packets leaves room for the backend, and follows the uplink', async () => {
    await addNode(1, '10.244.1.0/24')
    await (await start({ backend: 'vxlan' })).ready
    expect(kernel.link('cni0')?.mtu).toBe(1450)
    kernel.changeLink(kernel.link('eth0')!.index, { mtu: 9000 })
    await expect.poll(() => [kernel.link('cni0')?.mtu, kernel.link('sampan.1')?.mtu]).toEqual([8950, 8950])
  })

  test('puts back what others take away', async () => {
    await addNode(1, '10.244.1.0/24')
    await addNode(2, '10.244.2.0/24')
    await start()
    await expect.poll(peerRoutes).toHaveLength(1)
    kernel.deleteRoute({ destination: '10.244.2.0/24' })
    await expect.poll(peerRoutes).toHaveLength(1)
    const nftables = linux.openNftables()
    const [table] = nftables.tables()
    await nftables.commit(new NftTransaction().deleteTable(table!))
    kernel.deleteLink(kernel.link('cni0')!.index)
    await expect.poll(() => [kernel.link('cni0')?.up, nftables.tables().length]).toEqual([true, 1])
  })

  test('a peer out of reach is tried until it is in reach', async () => {
    await addNode(1, '10.244.1.0/24')
    await addNode(2, '10.244.2.0/24')
    kernel.changeLink(kernel.link('eth0')!.index, { up: false })
    const network = await start()
    await network.ready
    expect(peerRoutes()).toEqual([])
    kernel.changeLink(kernel.link('eth0')!.index, { up: true })
    await expect.poll(peerRoutes, { timeout: 5000 }).toEqual(['10.244.2.0/24 192.168.0.2'])
  })

  test('pods of a machine without any network have one', async () => {
    kernel.deleteLink(kernel.link('eth0')!.index)
    await addNode(1, '10.244.1.0/24')
    const network = await start({ backend: 'vxlan' })
    await network.ready
    expect((await network.podNetwork.attach(sandbox)).addresses).toEqual(['10.244.1.2'])
  })

  test('another backend leaves nothing of the one before', async () => {
    await addNode(1, '10.244.1.0/24')
    const first = await start({ backend: 'vxlan' })
    await expect.poll(() => kernel.link('sampan.1')).toBeDefined()
    await first[Symbol.asyncDispose]()
    started.pop()
    await (await start({ backend: 'host-gw' })).ready
    expect(kernel.link('sampan.1')).toBeUndefined()
  })

  test('ends in any state', async () => {
    const network = await start()
    await network[Symbol.asyncDispose]()
    started.pop()
    await expect(network.ready).rejects.toThrow('stopped before it was ready')
  })

  test.each<[string, string, () => void]>([
    ['off again', '0', () => {}],
    ['left on for others', '1', () => void kernel.addLink({ kind: 'bridge', name: 'docker0', up: true })],
  ])('after cleaning up, forwarding is %s', async (_, expected, prepare) => {
    prepare()
    await addNode(1, '10.244.1.0/24')
    const first = await start()
    await first.ready
    expect(linux.openSysctl().read('net/ipv4/ip_forward')).toBe('1')
    await first[Symbol.asyncDispose]()
    const second = await start()
    await second.ready
    await second.cleanup()
    expect(linux.openSysctl().read('net/ipv4/ip_forward')).toBe(expected)
  })

  test('cleaning up leaves nothing in the kernel', async () => {
    await addNode(1, '10.244.1.0/24')
    await addNode(2, '10.244.2.0/24')
    const before = { links: kernel.links(), routes: kernel.routes() }
    const network = await start({ backend: 'vxlan' })
    await network.ready
    await network.podNetwork.attach(sandbox)
    await network.cleanup()
    expect({ links: kernel.links().filter(({ kind }) => kind !== 'veth'), routes: kernel.routes() }).toEqual(before)
    expect(linux.openNftables().tables()).toEqual([])
    expect(linux.namespaces.list()).toEqual([])
  })
})

describe('the guard against neighbours', () => {
  const TABLE = { family: 'inet', name: 'sampan-neighbours' } as const
  const guard = { serviceCIDRs: ['10.96.0.0/16'], allowed: { links: ['wg0'], cidrs: ['192.0.2.0/24'] }, ports: [] }
  const ranges = (name: string) => {
    const nftables = linux.openNftables()
    const found = nftables.list(TABLE)?.sets.find((set) => set.name === name)
    const texts = found && nftables.elements(found).map(({ key, keyEnd = key }) => `${text(key)}-${text(keyEnd)}`)
    return texts?.sort()
  }
  const text = (address: Uint8Array) => [...address].join('.')
  const rules = () => linux.openNftables().list(TABLE)?.rules ?? []
  const PODS_AND_SERVICES = ['10.244.0.0-10.244.255.255', '10.96.0.0-10.96.255.255']
  const ALLOWED = '192.0.2.0-192.0.2.255'
  const node = (number: number) => `192.168.0.${number}-192.168.0.${number}`

  test('is not there unless asked for', async () => {
    await addNode(1, '10.244.1.0/24')
    await (await start()).ready
    expect(linux.openNftables().list(TABLE)).toBeUndefined()
  })

  test('lets the nodes of the cluster pass, and follows them', async () => {
    await addNode(1, '10.244.1.0/24')
    await start({ guard, backend: 'vxlan' })
    await expect.poll(() => ranges('ip-friends')).toEqual([ALLOWED, node(1)])
    expect(ranges('ip-guarded')).toEqual(PODS_AND_SERVICES)
    await addNode(2, '10.244.2.0/24')
    await expect.poll(() => ranges('ip-friends')).toEqual([ALLOWED, node(1), node(2)])
    await nodes().delete('node2')
    await expect.poll(() => ranges('ip-friends')).toEqual([ALLOWED, node(1)])
  })

  test('without a tunnel lets their pods pass too, but no range that is not of pods', async () => {
    await addNode(1, '10.244.1.0/24')
    await addNode(2, '0.0.0.0/0')
    await start({ guard })
    await expect.poll(() => ranges('ip-friends')).toEqual(['10.244.1.0-10.244.1.255', ALLOWED, node(1), node(2)].sort())
  })

  test('comes back when others take it away, and goes with the node', async () => {
    await addNode(1, '10.244.1.0/24')
    const network = await start({ guard })
    await network.ready
    const count = rules().length
    expect(count).toBeGreaterThan(0)
    await linux.openNftables().commit(new NftTransaction().deleteTable(TABLE))
    await expect.poll(() => rules().length).toBe(count)
    await network.cleanup()
    expect(linux.openNftables().list(TABLE)).toBeUndefined()
  })
})

test('a node that claims a range outside of the pods gets no route', async () => {
  await addNode(1, '10.244.1.0/24')
  await addNode(2, '8.8.8.0/24')
  await addNode(3, '10.244.3.0/24')
  await start()
  await expect.poll(peerRoutes).toEqual(['10.244.3.0/24 192.168.0.3'])
  expect(kernel.routes().some(({ destination }) => destination === '8.8.8.0/24')).toBe(false)
})
