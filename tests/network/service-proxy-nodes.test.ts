/** The packet-flow tables with real packets on two and three nodes, by each way between them, as README.md tells. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NetworkBackendName } from '../../src/pod-network/backends.ts'
import type { BackendFactory, ServiceProxyBackend } from '../../src/service-proxy/backend.ts'
import { BACKENDS } from '../../src/service-proxy/backends.ts'
import { createIptablesBackend } from '../../src/service-proxy/iptables/iptables-backend.ts'
import { type FlowScenario, PACKET_FLOWS } from '../../src/service-proxy/packet-flows.contract.ts'
import { asRoot } from '../linux/as-root.ts'
import type { FlowNetwork } from './flow-network.ts'
import { startFlowNodes } from './flow-nodes.ts'
import { flowOutcomes, openBackend, tableOf } from './flow-outcomes.ts'
import { OTHER_NODE_FLOWS } from './other-node-flows.ts'

/** One of each kind: the rules of a mode do not know how many nodes there are. */
const CHOSEN = new Set([
  'default policies',
  'external traffic policy Local',
  'internal traffic policy Local',
  'masquerade all',
  'a pod that reaches itself is masqueraded',
  'source ranges and external traffic policy Local',
  'many endpoints',
  'UDP, external traffic policy Local',
  'no endpoints at all',
  'terminating endpoints are better than none',
  'endpoints of the own zone',
  'session affinity, policies Local',
])
/** All rows in all modes by all networks: minutes instead of one. */
const IS_WHOLE = process.env.SAMPAN_ALL_FLOWS === '1'
const SOME = PACKET_FLOWS.filter(({ name }) => IS_WHOLE || CHOSEN.has(name))

interface Mode {
  readonly name: string
  readonly factory: BackendFactory
  readonly scenarios: readonly FlowScenario[]
  /** Endpoints never see the client. */
  readonly hidesClients?: boolean
}

const MODES: readonly Mode[] = [
  { name: 'nftables', factory: BACKENDS.nftables!, scenarios: PACKET_FLOWS },
  { name: 'iptables-nft', factory: (o) => createIptablesBackend(o, { variant: 'nft' }), scenarios: SOME },
  { name: 'iptables-legacy', factory: (o) => createIptablesBackend(o, { variant: 'legacy' }), scenarios: SOME },
  { name: 'userspace', factory: BACKENDS.userspace!, scenarios: SOME, hidesClients: true },
]

const NETWORKS: readonly (readonly [NetworkBackendName, 2 | 3, readonly string[]])[] = [
  ['host-gw', 2, ['nftables', 'iptables-nft', 'iptables-legacy', 'userspace']],
  ['host-gw', 3, ['nftables']],
  ['vxlan', 2, ['nftables']],
  ['vxlan', 3, ['nftables', 'iptables-nft', 'iptables-legacy', 'userspace']],
]

describe.each(NETWORKS)('%s, %i nodes', (backend, nodes, modes) => {
  asRoot('packets', () => {
    let network: FlowNetwork
    beforeAll(async () => {
      network = await startFlowNodes({ backend, nodes })
    })
    afterAll(() => network?.[Symbol.asyncDispose]())

    describe.each(MODES.filter(({ name }) => IS_WHOLE || modes.includes(name)))('$name', (mode) => {
      const proxies: ServiceProxyBackend[] = []
      const stop = async (work: (proxy: ServiceProxyBackend) => Promise<void>) => {
        for (const proxy of proxies.splice(0)) {
          await work(proxy)
          await proxy[Symbol.asyncDispose]()
        }
      }
      afterAll(async () => {
        await start(SOME[0]!)
        await stop((proxy) => proxy.cleanup())
      })

      async function start(scenario: FlowScenario): Promise<void> {
        for (const node of network.nodes) {
          const proxy = openBackend(node, mode.factory, scenario, network.placement)
          proxies.push(proxy)
          await proxy.apply(tableOf(scenario, network.placement, node.nodeName), 'all')
        }
      }
      const visible = (outcome: string) => (mode.hidesClients ? outcome.replace(/( some)? snat$/, '') : outcome)

      test.each([...mode.scenarios, ...OTHER_NODE_FLOWS])('$name', async (scenario) => {
        try {
          await start(scenario)
          const ask = network.placement.families.map((family) =>
            flowOutcomes(network, scenario, family, { inTurn: mode.hidesClients === true }),
          )
          for (const { actual, expected } of await Promise.all(ask)) {
            expect(actual.map(visible)).toEqual(expected.map(visible))
          }
        } finally {
          await stop(async () => {})
        }
      })
    })
  })
})
