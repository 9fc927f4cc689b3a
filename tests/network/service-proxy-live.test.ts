/** A running service proxy and real packets: changes under load, restarts, strangers, affinity, UDP. */
import { execFileSync } from 'node:child_process'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/api/generated/core-v1.ts'
import type { EndpointSlice } from '../../src/api/generated/discovery-v1.ts'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpoint-slice.ts'
import { type ApiServer, startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { seededRandom } from '../../src/base/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import type { Transport } from '../../src/client/transport.ts'
import { linuxCalls } from '../../src/linux/ffi.ts'
import {
  addressOf,
  POD_CIDRS,
  SERVICE_CIDRS,
  TARGET_PORT,
  THIS_NODE,
} from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { type ServiceProxy, startServiceProxy } from '../../src/service-proxy/service-proxy.ts'
import { openMemoryStore } from '../../src/store/embedded.ts'
import type { Store } from '../../src/store/store.ts'
import { asRoot } from '../linux/as-root.ts'
import { type FlowNetwork, startFlowNetwork } from './flow-network.ts'
import { ask, connectedUdp } from './flow-sockets.ts'

const PATIENCE_MS = 5000
const LOAD_MS = 3000

asRoot('a running service proxy', () => {
  let network: FlowNetwork
  let store: Store
  let server: ApiServer
  let transport: Transport
  let client: Client
  const proxies: ServiceProxy[] = []

  beforeAll(async () => {
    network = await startFlowNetwork()
  })
  afterAll(() => network?.[Symbol.asyncDispose]())

  beforeEach(async () => {
    store = await openMemoryStore()
    const common = { clock: systemClock, random: seededRandom(1), log: silentLogger }
    server = await startApiServer({ store, ...common, serviceCidrs: [SERVICE_CIDRS.IPv4] })
    transport = server.transport({ name: 'admin', groups: ['system:masters'] })
    client = createClient(transport)
  })
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) await proxy.cleanup()
    await server[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })

  async function start(): Promise<ServiceProxy> {
    const proxy = await startServiceProxy({
      transport,
      nodeName: THIS_NODE,
      mode: 'nftables',
      ...network.node,
      clock: systemClock,
      random: seededRandom(2),
      log: silentLogger,
      localDetector: { by: 'cidr', cidrs: [POD_CIDRS.IPv4] },
      nodeIPs: [addressOf('N', 'IPv4')],
      healthPort: 'none',
    })
    proxies.push(proxy)
    await proxy.ready
    return proxy
  }

  const services = () => client.resource(serviceKind).namespace('default')
  const slices = () => client.resource(endpointSliceKind).namespace('default')

  const slice = (names: readonly string[]): EndpointSlice => ({
    metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: TARGET_PORT })),
    endpoints: names.map((name) => ({
      addresses: [addressOf(name, 'IPv4')],
      nodeName: name.startsWith('L') ? THIS_NODE : 'there',
      conditions: { ready: true },
    })),
  })

  async function createService(names: readonly string[], spec: Service['spec'] = {}): Promise<string> {
    const ports = ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 80 }))
    const made = await services().create({ metadata: { name: 'web', namespace: 'default' }, spec: { ports, ...spec } })
    await slices().create(slice(names))
    return made.spec!.clusterIP!
  }

  const askOnce = (ip: string) =>
    ask(network.place('P'), { source: addressOf('P', 'IPv4'), ip, port: 80, protocol: 'TCP' }, PATIENCE_MS)

  const nft = (...args: string[]) =>
    execFileSync('nsenter', [`--net=/run/netns/${network.node.namespace.name}`, 'nft', ...args], { encoding: 'utf8' })

  /** Everyone who answers, and every failure. */
  async function load(ip: string, until: Promise<unknown>): Promise<Map<string, number>> {
    const answers = new Map<string, number>()
    let isDone = false
    until.finally(() => {
      isDone = true
    })
    while (!isDone) {
      const answer = await askOnce(ip)
      const name = typeof answer === 'string' ? answer : answer.name
      answers.set(name, (answers.get(name) ?? 0) + 1)
    }
    return answers
  }

  test('endpoints come and go under load and no request fails', async () => {
    const ip = await createService(['L1', 'L2', 'R1'])
    const proxy = await start()
    const sets = [['L1'], ['L1', 'L2', 'R1', 'R2'], ['R1', 'R2'], ['L1', 'R2'], ['L2', 'R1', 'L1']]
    let changes = 0
    const change = async () => {
      const end = Date.now() + LOAD_MS
      while (Date.now() < end) {
        await slices().update(slice(sets[changes++ % sets.length]!))
        await proxy.settled()
      }
    }
    const answers = await load(ip, change())
    expect([...answers.keys()].sort()).toEqual(['L1', 'L2', 'R1', 'R2'])
    expect(changes).toBeGreaterThan(10)
  })

  test('rules flushed by others are repaired', async () => {
    const ip = await createService(['L1'])
    await start()
    expect(await askOnce(ip)).toMatchObject({ name: 'L1' })
    nft('flush', 'ruleset')
    await expect.poll(() => nft('list', 'ruleset'), { timeout: PATIENCE_MS }).toContain('default/web:tcp')
    expect(await askOnce(ip)).toMatchObject({ name: 'L1' })
  })

  test('rules stay without the proxy, and the next one writes nothing', async () => {
    const ip = await createService(['L1', 'R1'])
    const proxy = await start()
    await proxy[Symbol.asyncDispose]()
    const watched = network.node.linux.openNftables(network.node.namespace)
    const generation = watched.generation()
    const answers = await load(ip, start())
    expect([...answers.keys()].filter((name) => name !== 'L1' && name !== 'R1')).toEqual([])
    expect(watched.generation()).toBe(generation)
    watched[Symbol.dispose]()
  })

  test('a client stays with its endpoint until that is gone, or its time is over', async () => {
    const affinity = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } } }
    const ip = await createService(['L1', 'L2', 'R1', 'R2'], affinity)
    const proxy = await start()
    const seen = async (times: number) => {
      const names = new Set<string>()
      for (let i = 0; i < times; i++) names.add(((await askOnce(ip)) as { name: string }).name)
      return [...names]
    }
    const [first, ...others] = await seen(20)
    expect(others).toEqual([])
    const left = ['L1', 'L2', 'R1', 'R2'].filter((name) => name !== first)
    await slices().update(slice(left))
    await proxy.settled()
    await expect.poll(() => nft('list', 'ruleset')).not.toContain(`${addressOf(first!, 'IPv4')} . `)
    const [second, ...more] = await seen(20)
    expect(left).toContain(second)
    expect(more).toEqual([])
    // Another endpoint is chosen sooner or later when the client was silent for longer than the timeout.
    const afterSilence = async () => {
      await new Promise((resolve) => setTimeout(resolve, 1300))
      return (await seen(1))[0]
    }
    await expect.poll(afterSilence, { timeout: 30_000 }).not.toBe(second)
  })

  test('a UDP client with a fixed port moves on when its endpoint is gone', async () => {
    const ip = await createService(['L1'])
    const proxy = await start()
    const place = network.place('P')
    const socket = connectedUdp(place, { source: addressOf('P', 'IPv4'), ip, port: 80, protocol: 'UDP' })
    try {
      const name = async () => {
        linuxCalls().send(socket.fd, Buffer.from('?'), 1, 0)
        return socket.answer(500)
      }
      expect(await name()).toBe('L1')
      await slices().update(slice(['R1']))
      await proxy.settled()
      await expect.poll(name, { timeout: PATIENCE_MS }).toBe('R1')
      await slices().update(slice(['R1', 'L2']))
      await proxy.settled()
      for (let i = 0; i < 5; i++) expect(await name()).toBe('R1')
    } finally {
      socket.close()
    }
  })
})
