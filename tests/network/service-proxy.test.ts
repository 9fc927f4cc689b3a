/** The packet-flow tables with real packets, for every mode, in network namespaces of their own. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { IPFamily } from '../../src/base/ip-address.ts'
import type { BackendFactory, ProxyMode } from '../../src/service-proxy/backend.ts'
import { BACKENDS } from '../../src/service-proxy/backends.ts'
import { placementOf } from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { PACKET_FLOWS } from '../../src/service-proxy/packet-flows.contract.ts'
import { asRoot } from '../linux/as-root.ts'
import { type FlowNetwork, startFlowNetwork } from './flow-network.ts'
import { flowOutcomes, openBackend, tableOf } from './flow-outcomes.ts'

/** One family after the other where most nodes have one; both at once where that is cheaper. */
const STACKS: Readonly<Partial<Record<ProxyMode, readonly (readonly IPFamily[])[]>>> = {
  nftables: [['IPv4'], ['IPv6']],
  iptables: [['IPv4'], ['IPv6']],
  userspace: [['IPv4', 'IPv6']],
}
/** A proxy in user space speaks to endpoints itself: they never see the client. */
const sourceOf = (mode: ProxyMode) => (outcome: string) =>
  mode === 'userspace' ? outcome.replace(/ snat$/, '') : outcome

/** Pods and the node go to any of two, the others to the one that is here. */
const EXTERNAL_LOCAL = `table ip sampan-services {
	chain external-local-2-1 {
		ip saddr @pod-cidrs goto lb-2
		fib saddr type local jump mark-for-masquerade
		fib saddr type local goto lb-2
		goto lb-local-1
	}
}
`

let network: FlowNetwork

asRoot('service proxy with real packets', () => {
  beforeAll(async () => {
    network = await startFlowNetwork()
  })
  afterAll(() => network?.[Symbol.asyncDispose]())

  for (const [mode, factory] of Object.entries(BACKENDS) as [ProxyMode, BackendFactory][]) {
    for (const families of STACKS[mode] ?? []) {
      const placement = placementOf(...families)
      describe(`${mode} ${families.join(' and ')}`, () => {
        test.each(PACKET_FLOWS)('$name', async (scenario) => {
          const backend = openBackend(network.nodes[0]!, factory, scenario, placement)
          try {
            await backend.apply(tableOf(scenario, placement), 'all')
            const inTurn = mode === 'userspace'
            const asked = families.map((family) => flowOutcomes(network, scenario, family, { inTurn }))
            for (const { actual, expected } of await Promise.all(asked)) {
              expect(actual.map(sourceOf(mode))).toEqual(expected.map(sourceOf(mode)))
            }
          } finally {
            await backend[Symbol.asyncDispose]()
          }
        })

        test('nothing is left', async () => {
          const backend = openBackend(network.nodes[0]!, factory, PACKET_FLOWS[0]!, placement)
          await backend.cleanup()
          await backend[Symbol.asyncDispose]()
          const { name } = network.node.namespace
          expect(
            execFileSync('nsenter', [`--net=/run/netns/${name}`, 'nft', 'list', 'ruleset'], { encoding: 'utf8' }),
          ).toBe('')
        })
      })
    }
  }

  test('nft prints a chain as people read it', async () => {
    const scenario = PACKET_FLOWS.find(({ name }) => name === 'external traffic policy Local')!
    const backend = openBackend(network.nodes[0]!, BACKENDS.nftables!, scenario, placementOf('IPv4'))
    await backend.apply(tableOf(scenario, placementOf('IPv4')), 'all')
    await backend[Symbol.asyncDispose]()
    const { name } = network.node.namespace
    const chain = ['list', 'chain', 'ip', 'sampan-services', 'external-local-2-1']
    expect(execFileSync('nsenter', [`--net=/run/netns/${name}`, 'nft', ...chain], { encoding: 'utf8' })).toBe(
      EXTERNAL_LOCAL,
    )
  })

  test('nft prints the rules of every scenario', async () => {
    const { name } = network.node.namespace
    for (const scenario of PACKET_FLOWS) {
      const backend = openBackend(network.nodes[0]!, BACKENDS.nftables!, scenario, placementOf('IPv6'))
      await backend.apply(tableOf(scenario, placementOf('IPv6')), 'all')
      await backend[Symbol.asyncDispose]()
      const text = execFileSync('nsenter', [`--net=/run/netns/${name}`, 'nft', 'list', 'ruleset'], { encoding: 'utf8' })
      expect(text).toContain('comment "default/web:p')
    }
  })
})
