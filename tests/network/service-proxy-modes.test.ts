/** A proxy in user space and the change from one mode to another, with real packets. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ProxyMode } from '../../src/service-proxy/backend.ts'
import { BACKENDS } from '../../src/service-proxy/backends.ts'
import { addressOf } from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { asRoot } from '../linux/as-root.ts'
import { type FlowNetwork, startFlowNetwork } from './flow-network.ts'
import type { ProxyVariant } from './proxy-variants.ts'
import { RunningProxies } from './running-proxy.ts'

const MODES = Object.keys(BACKENDS) as ProxyMode[]
/** Each mode to each other one. */
const CHANGES = MODES.flatMap((from) => MODES.filter((to) => to !== from).map((to) => [from, to] as const))

asRoot('modes of a running service proxy', () => {
  let network: FlowNetwork
  let running: RunningProxies

  beforeAll(async () => {
    network = await startFlowNetwork()
  })
  afterAll(() => network?.[Symbol.asyncDispose]())
  beforeEach(async () => {
    running = await RunningProxies.start(network)
  })
  afterEach(() => running[Symbol.asyncDispose]())

  test.each(CHANGES)('from %s to %s no request fails', async (from, to) => {
    const ip = await running.createService(['L1', 'R1'])
    const proxy = await running.startProxy('nftables', { mode: from, backends: BACKENDS })
    expect(await running.answersDuring(ip, proxy.setMode(to))).toEqual(['L1', 'R1'])
    expect(proxy.mode).toBe(to)
  })

  test.each<[ProxyVariant, string, string]>([
    ['nftables', 'reject', 'reject'],
    ['iptables-nft', 'L1', 'L1'],
    ['iptables-legacy', 'L1', 'L1'],
    ['userspace', 'reject', 'reject'],
  ])(
    '%s: a node port at 127.0.0.1 is %s, at another address of the node %s',
    async (variant, atLoopback, elsewhere) => {
      const ports = [{ name: 'tcp', port: 80, nodePort: 30_080 }]
      await running.createService(['L1'], { type: 'NodePort', ports })
      const proxy = await running.startProxy(variant)
      const loopback = { from: 'N', source: '127.0.0.1', port: 30_080 }
      expect(await running.ask('127.0.0.1', loopback)).toBe(atLoopback)
      expect(await running.ask('192.168.20.1', { from: 'P', port: 30_080 })).toBe(elsewhere)
      expect(await running.ask(addressOf('N', 'IPv4'), { from: 'E', port: 30_080 })).toBe('L1')
      const routed = () =>
        network.node.linux.openSysctl(network.node.namespace).read('net/ipv4/conf/all/route_localnet')
      expect(routed()).toBe(atLoopback === 'reject' ? '0' : '1')
      await proxy.cleanup()
      expect(routed()).toBe('0')
    },
  )

  test('userspace: an endpoint that does not answer is passed over', async () => {
    // In the pod network, but no pod has it.
    const ip = await running.createService(['10.244.0.99', 'L1'])
    await running.startProxy('userspace')
    for (let i = 0; i < 4; i++) expect(await running.ask(ip)).toBe('L1')
  })
})
