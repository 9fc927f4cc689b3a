/** Pods of two and three nodes, with real packets, by each backend. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts'
import type { NetworkBackendName } from '../../src/pod-network/backends.ts'
import type { NodeNetwork } from '../../src/pod-network/node-network.ts'
import { asRoot } from '../linux/as-root.ts'
import { Lab, type Machine, type Pod, podCIDRs } from './pod-network-lab.ts'

const POLL = { timeout: 20_000, interval: 100 }
/** Bytes of IP and ICMP headers around an echo. */
const HEADERS = [28, 48]

interface Case {
  readonly backend: NetworkBackendName
  readonly underlay: readonly ('IPv4' | 'IPv6')[]
  /** The families of the pods, as places in `podCIDRs`. */
  readonly pods: readonly number[]
  readonly mtu: number
}

const CASES: readonly Case[] = [
  { backend: 'host-gw', underlay: ['IPv4', 'IPv6'], pods: [0, 1], mtu: 1500 },
  { backend: 'host-gw', underlay: ['IPv4'], pods: [0], mtu: 1500 },
  { backend: 'host-gw', underlay: ['IPv6'], pods: [1], mtu: 1500 },
  { backend: 'vxlan', underlay: ['IPv4', 'IPv6'], pods: [0, 1], mtu: 1430 },
  { backend: 'vxlan', underlay: ['IPv4'], pods: [0], mtu: 1450 },
  { backend: 'vxlan', underlay: ['IPv6'], pods: [1], mtu: 1430 },
  { backend: 'vxlan', underlay: ['IPv4'], pods: [0, 1], mtu: 1450 },
]

asRoot('pods of several nodes', () => {
  let lab: Lab
  let machines: Machine[]
  let networks: NodeNetwork[]
  let pods: Pod[]

  async function start({ backend, underlay, pods: families }: Case, count: number): Promise<void> {
    for (let number = 1; number <= count; number++) {
      const machine = lab.addMachine(`node${number}`, { families: [...underlay] })
      machines.push(machine)
      const cidrs = podCIDRs(number)
      await lab.register(
        machine,
        families.map((family) => cidrs[family]!),
      )
    }
    for (const machine of machines) networks.push(await lab.startNetwork(machine, { backend }))
    for (const network of networks) pods.push(await lab.addPod(network))
  }

  beforeEach(() => {
    lab = new Lab()
    machines = []
    networks = []
    pods = []
  })

  afterEach(() => lab[Symbol.asyncDispose]())

  const title = ({ backend, underlay, pods }: Case) =>
    `${backend}: pods of ${pods.map((family) => ['IPv4', 'IPv6'][family]).join(' and ')} over ${underlay.join(' and ')}`

  describe.each(CASES.map((one) => [title(one), one] as const))('%s', (_title, one) => {
    test('all reach all, as themselves, in packets of full size', async () => {
      await start(one, 3)
      for (const [place, family] of one.pods.entries()) {
        for (const target of pods) {
          const address = target.addresses[place]!
          await lab.serve(target.inside, address, 8080)
          for (const source of pods.filter((pod) => pod !== target)) {
            await expect.poll(() => lab.ask(source.inside, address, 8080), POLL).toBe(source.addresses[place])
          }
        }
        const [a, b] = pods as [Pod, Pod]
        const bytes = one.mtu - HEADERS[family]!
        expect(await lab.ping(a.inside, b.addresses[place]!, { bytes })).toBe(true)
        expect(await lab.ping(a.inside, b.addresses[place]!, { bytes: bytes + 1 })).toBe(false)
        // The node itself as well, whatever address it has for it.
        expect(await lab.ping(machines[0]!.inside, b.addresses[place]!)).toBe(true)
      }
    })
  })

  describe.each([CASES[0]!, CASES[3]!].map((one) => [one.backend, one] as const))('%s', (_backend, one) => {
    const canReach = (place: number) => () => lab.ping(pods[0]!.inside, pods[1]!.addresses[place]!)

    test('a node that was cut off is reached again', async () => {
      await start(one, 2)
      for (const place of [0, 1]) await expect.poll(canReach(place), POLL).toBe(true)
      lab.setCable(machines[1]!, false)
      expect(await canReach(0)()).toBe(false)
      lab.setCable(machines[1]!, true)
      for (const place of [0, 1]) await expect.poll(canReach(place), POLL).toBe(true)
      // Its own end goes down: the kernel forgets every route by it, and the IPv6 address.
      await lab.run(machines[1]!.inside, 'ip', ['link', 'set', 'eth0', 'down'])
      expect(await canReach(0)()).toBe(false)
      await lab.run(machines[1]!.inside, 'ip', ['link', 'set', 'eth0', 'up'])
      await lab.run(machines[1]!.inside, 'ip', [
        'addr',
        'add',
        `${machines[1]!.addresses[1]}/64`,
        'dev',
        'eth0',
        'nodad',
      ])
      for (const place of [0, 1]) await expect.poll(canReach(place), POLL).toBe(true)
    })

    test('traffic goes on without the process, and the next one adopts it', async () => {
      await start(one, 2)
      await expect.poll(canReach(0), POLL).toBe(true)
      for (const network of networks) await lab.stopNetwork(network)
      expect(await canReach(0)()).toBe(true)
      expect(await canReach(1)()).toBe(true)
      const before = await lab.run(machines[0]!.inside, 'ip', ['-d', 'link', 'show', 'type', 'vxlan'])
      await lab.startNetwork(machines[0]!, { backend: one.backend })
      expect(await lab.run(machines[0]!.inside, 'ip', ['-d', 'link', 'show', 'type', 'vxlan'])).toBe(before)
      expect(await canReach(0)()).toBe(true)
    })

    test('routes that someone took away are put back', async () => {
      await start(one, 2)
      await expect.poll(canReach(0), POLL).toBe(true)
      await lab.run(machines[0]!.inside, 'ip', ['route', 'del', podCIDRs(2)[0]!])
      await expect.poll(canReach(0), POLL).toBe(true)
    })

    test('a node that leaves takes its routes along', async () => {
      await start(one, 2)
      await expect.poll(canReach(0), POLL).toBe(true)
      const client = await lab.client()
      await client.resource(nodeKind).delete('node2')
      const routes = async () =>
        (await lab.run(machines[0]!.inside, 'ip', ['route'])) +
        (await lab.run(machines[0]!.inside, 'ip', ['-6', 'route']))
      await expect.poll(routes, POLL).not.toMatch(/10\.244\.2\.0|fd00:10:244:2::/)
    })
  })

  test('a node changes to another backend', async () => {
    const [vxlan, hostGateway] = [CASES[3]!, CASES[0]!]
    await start(vxlan, 2)
    await expect.poll(() => lab.ping(pods[0]!.inside, pods[1]!.addresses[0]!), POLL).toBe(true)
    for (const network of networks.splice(0)) await lab.stopNetwork(network)
    for (const machine of machines) await lab.startNetwork(machine, { backend: hostGateway.backend })
    expect(await lab.run(machines[0]!.inside, 'ip', ['link', 'show', 'type', 'vxlan'])).toBe('')
    for (const place of [0, 1]) {
      await expect.poll(() => lab.ping(pods[0]!.inside, pods[1]!.addresses[place]!), POLL).toBe(true)
    }
  })
})
