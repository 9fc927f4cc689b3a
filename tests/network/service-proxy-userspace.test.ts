/** A proxy in user space and the change from one mode to another, with real packets. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { EndpointSlice } from '../../src/api/generated/discovery-v1.ts'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpoint-slice.ts'
import { type ApiServer, startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { seededRandom } from '../../src/base/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import type { Transport } from '../../src/client/transport.ts'
import type { ProxyMode } from '../../src/service-proxy/backend.ts'
import { BACKENDS } from '../../src/service-proxy/backends.ts'
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
import { ask } from './flow-sockets.ts'

const PATIENCE_MS = 10_000
const MODES = Object.keys(BACKENDS) as ProxyMode[]
/** Each mode to each other one. */
const CHANGES = MODES.flatMap((from) => MODES.filter((to) => to !== from).map((to) => [from, to] as const))

asRoot('modes of a running service proxy', () => {
  let network: FlowNetwork
  let store: Store
  let server: ApiServer
  let transport: Transport
  let client: Client
  let proxy: ServiceProxy | undefined

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
    await proxy?.cleanup()
    proxy = undefined
    await server[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })

  async function start(mode: ProxyMode): Promise<ServiceProxy> {
    proxy = await startServiceProxy({
      ...{ transport, nodeName: THIS_NODE, mode, ...network.node, clock: systemClock, log: silentLogger },
      random: seededRandom(2),
      localDetector: { by: 'cidr', cidrs: [POD_CIDRS.IPv4] },
      nodeIPs: [addressOf('N', 'IPv4')],
      healthPort: 'none',
    })
    await proxy.ready
    return proxy
  }

  const slices = () => client.resource(endpointSliceKind).namespace('default')
  const slice = (ips: readonly string[]): EndpointSlice => ({
    metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'tcp', protocol: 'TCP', port: TARGET_PORT }],
    endpoints: ips.map((ip) => ({ addresses: [ip], nodeName: THIS_NODE, conditions: { ready: true } })),
  })
  const addresses = (...names: string[]) => names.map((name) => addressOf(name, 'IPv4'))

  async function createService(ips: readonly string[]): Promise<string> {
    const ports = [{ name: 'tcp', protocol: 'TCP', port: 80 }]
    const metadata = { name: 'web', namespace: 'default' }
    const made = await client.resource(serviceKind).namespace('default').create({ metadata, spec: { ports } })
    await slices().create(slice(ips))
    return made.spec!.clusterIP!
  }

  async function askOnce(ip: string): Promise<string> {
    const target = { source: addressOf('P', 'IPv4'), ip, port: 80, protocol: 'TCP' } as const
    const answer = await ask(network.place('P'), target, PATIENCE_MS)
    return typeof answer === 'string' ? answer : answer.name
  }

  /** All who answer, and how others end, until the work is done. */
  async function answersDuring(ip: string, work: Promise<unknown>): Promise<string[]> {
    const answers = new Set<string>()
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    while (!isDone) answers.add(await askOnce(ip))
    await done
    for (let i = 0; i < 20; i++) answers.add(await askOnce(ip))
    return [...answers].sort()
  }

  test.each(CHANGES)('from %s to %s no request fails', async (from, to) => {
    const ip = await createService(addresses('L1', 'R1'))
    const running = await start(from)
    expect(await answersDuring(ip, running.setMode(to))).toEqual(['L1', 'R1'])
  })

  test.each(MODES)('%s: endpoints come and go under load and no request fails', async (mode) => {
    const ip = await createService(addresses('L1', 'L2', 'R1'))
    const running = await start(mode)
    const sets = [['L1'], ['L1', 'L2', 'R1', 'R2'], ['R1', 'R2'], ['L1', 'R2'], ['L2', 'R1', 'L1']]
    const change = async () => {
      for (let i = 0; i < 25; i++) {
        await slices().update(slice(addresses(...sets[i % sets.length]!)))
        await running.settled()
      }
    }
    expect((await answersDuring(ip, change())).filter((word) => !/^[LR]\d$/.test(word))).toEqual([])
  })

  test('userspace: an endpoint that does not answer is passed over', async () => {
    // In the pod network, but no pod has it.
    const ip = await createService(['10.244.0.99', ...addresses('L1')])
    await start('userspace')
    for (let i = 0; i < 4; i++) expect(await askOnce(ip)).toBe('L1')
  })
})
