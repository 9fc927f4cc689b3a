/** iptables mode on both of the kernel's packet filters, and what `iptables-save` shows. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { IPFamily } from '../../src/base/ip-address.ts'
import type { BackendFactory } from '../../src/service-proxy/backend.ts'
import { createIptablesBackend } from '../../src/service-proxy/iptables/iptables-backend.ts'
import { type IptablesCommands, machineIptables } from '../../src/service-proxy/iptables/iptables-commands.ts'
import { placementOf } from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { type FlowScenario, PACKET_FLOWS } from '../../src/service-proxy/packet-flows.contract.ts'
import { asRoot } from '../linux/as-root.ts'
import { type FlowNetwork, startFlowNetwork } from './flow-network.ts'
import { flowOutcomes, openBackend, tableOf } from './flow-outcomes.ts'

const FAMILIES: readonly IPFamily[] = ['IPv4', 'IPv6']
const VARIANTS = ['nft', 'legacy'] as const

asRoot('iptables mode', () => {
  let network: FlowNetwork
  beforeAll(async () => {
    network = await startFlowNetwork()
  })
  afterAll(() => network?.[Symbol.asyncDispose]())

  const inNode = (...command: string[]) =>
    execFileSync('nsenter', [`--net=/run/netns/${network.node.namespace.name}`, ...command], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })

  describe.each(VARIANTS)('iptables-%s', (variant) => {
    const factory: BackendFactory = (options) => createIptablesBackend(options, { variant })
    const program = (family: IPFamily) => `${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${variant}-save`

    /** What a process that comes later changes of what it finds. */
    async function writtenByAnother(scenario: FlowScenario, family: IPFamily): Promise<string[]> {
      const written: string[] = []
      const commands: IptablesCommands = {
        ...machineIptables(network.node, variant),
        restore: async (_, text) => void written.push(text),
      }
      const another: BackendFactory = (options) => createIptablesBackend(options, { commands })
      const backend = openBackend(network.nodes[0]!, another, scenario, placementOf(family))
      await backend.apply(tableOf(scenario, placementOf(family)), 'all')
      await backend[Symbol.asyncDispose]()
      return written.filter((text) => text !== '')
    }

    // The tables of iptables-nft are run with those of all modes.
    test.each(variant === 'legacy' ? PACKET_FLOWS : [])('$name', async (scenario) => {
      const { placement } = network
      const backend = openBackend(network.nodes[0]!, factory, scenario, placement)
      await backend.apply(tableOf(scenario, placement), 'all')
      const asked = placement.families.map((family) => flowOutcomes(network, scenario, family))
      for (const { actual, expected } of await Promise.all(asked)) expect(actual).toEqual(expected)
    })

    test.each(FAMILIES)(
      'a change writes only what is different and ends where a full sync does, and another process has nothing to write (%s)',
      async (family) => {
        const lines = () =>
          inNode(program(family))
            .split('\n')
            .filter((line) => /^(-A|:KUBE)/.test(line))
            .sort()
        for (const [i, scenario] of PACKET_FLOWS.entries()) {
          const before = PACKET_FLOWS[(i + 7) % PACKET_FLOWS.length]!
          if (
            JSON.stringify({ ...before, services: 0, flows: 0, name: 0 }) !==
            JSON.stringify({ ...scenario, services: 0, flows: 0, name: 0 })
          )
            continue
          const backend = openBackend(network.nodes[0]!, factory, scenario, placementOf(family))
          const [first, second] = [tableOf(before, placementOf(family)), tableOf(scenario, placementOf(family))]
          await backend.apply(first, 'all')
          const keys = new Set([...first.ports(), ...second.ports()].map(({ key }) => key))
          await backend.apply(second, keys)
          const changed = lines()
          await backend.apply(second, 'all')
          expect(changed).toEqual(lines())
          await backend[Symbol.asyncDispose]()
          expect([scenario.name, ...(await writtenByAnother(scenario, family))]).toEqual([scenario.name])
        }
      },
    )

    test('cleaning up takes all away and leaves what is not ours', async () => {
      const scenario = PACKET_FLOWS[0]!
      inNode(`iptables-${variant}`, '-A', 'FORWARD', '-s', '203.0.113.1', '-j', 'DROP')
      const backend = openBackend(network.nodes[0]!, factory, scenario, placementOf('IPv4'))
      await backend.apply(tableOf(scenario, placementOf('IPv4')), 'all')
      expect(inNode(program('IPv4'))).toContain('"default/web:p80-tcp cluster IP"')
      await backend.cleanup()
      expect(inNode(program('IPv4'))).not.toContain('KUBE-')
      expect(inNode(program('IPv6'))).not.toContain('KUBE-')
      expect(inNode(program('IPv4'))).toContain('203.0.113.1')
      inNode(`iptables-${variant}`, '-D', 'FORWARD', '-s', '203.0.113.1', '-j', 'DROP')
    })
  })
})
