/** A running service proxy and real packets: restarts, affinity, UDP. */
import { execFileSync } from 'node:child_process'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { linuxCalls } from '../../src/linux/ffi.ts'
import { addressOf } from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { asRoot } from '../linux/as-root.ts'
import { type FlowNetwork, startFlowNetwork } from './flow-network.ts'
import { connectedUdp } from './flow-sockets.ts'
import { RunningProxies } from './running-proxy.ts'

const PATIENCE_MS = 5000

asRoot('a running service proxy', () => {
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

  const nft = (...args: string[]) =>
    execFileSync('nsenter', [`--net=/run/netns/${network.node.namespace.name}`, 'nft', ...args], { encoding: 'utf8' })

  test('rules stay without the proxy, and the next one writes nothing', async () => {
    const ip = await running.createService(['L1', 'R1'])
    const proxy = await running.startProxy('nftables')
    await running.stopProxy(proxy)
    const watched = network.node.linux.openNftables(network.node.namespace)
    const generation = watched.generation()
    const answers = await running.answersDuring(ip, running.startProxy('nftables'))
    expect(answers).toEqual(['L1', 'R1'])
    expect(watched.generation()).toBe(generation)
    watched[Symbol.dispose]()
  })

  test('a client stays with its endpoint until that is gone, or its time is over', async () => {
    const affinity = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } } }
    const ip = await running.createService(['L1', 'L2', 'R1', 'R2'], affinity)
    const proxy = await running.startProxy('nftables')
    const seen = async (times: number) => {
      const names = new Set<string>()
      for (let i = 0; i < times; i++) names.add(await running.ask(ip))
      return [...names]
    }
    const [first, ...others] = await seen(20)
    expect(others).toEqual([])
    const left = ['L1', 'L2', 'R1', 'R2'].filter((name) => name !== first)
    await running.setEndpoints(left)
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
    const ip = await running.createService(['L1'])
    const proxy = await running.startProxy('nftables')
    const place = network.place('P')
    const socket = connectedUdp(place, { source: addressOf('P', 'IPv4'), ip, port: 80, protocol: 'UDP' })
    try {
      const name = async () => {
        linuxCalls().send(socket.fd, Buffer.from('?'), 1, 0)
        return socket.answer(500)
      }
      expect(await name()).toBe('L1')
      await running.setEndpoints(['R1'])
      await proxy.settled()
      await expect.poll(name, { timeout: PATIENCE_MS }).toBe('R1')
      await running.setEndpoints(['R1', 'L2'])
      await proxy.settled()
      for (let i = 0; i < 5; i++) expect(await name()).toBe('R1')
    } finally {
      socket.close()
    }
  })
})
