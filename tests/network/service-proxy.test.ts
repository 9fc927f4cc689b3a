/** The packet-flow tables with real packets, for every mode, in network namespaces of their own. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { IPFamily } from '../../src/base/ip-address.ts'
import { silentLogger } from '../../src/base/log.ts'
import type { BackendFactory, ProxyMode, ServiceProxyBackend } from '../../src/service-proxy/backend.ts'
import { BACKENDS } from '../../src/service-proxy/backends.ts'
import {
  addressOf,
  nodeLabelsOf,
  nodeOf,
  objectsOf,
  THIS_NODE,
} from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { type FlowScenario, PACKET_FLOWS, parseFlow } from '../../src/service-proxy/packet-flows.contract.ts'
import type { Protocol } from '../../src/service-proxy/service-port.ts'
import { ServiceTable } from '../../src/service-proxy/service-table.ts'
import { asRoot } from '../linux/as-root.ts'
import { type FlowNetwork, startFlowNetwork } from './flow-network.ts'
import { type Answer, ask } from './flow-sockets.ts'

const FAMILIES: readonly IPFamily[] = ['IPv4', 'IPv6']
/** Long enough that a silent answer is silence, also on a busy machine. */
const SILENCE_MS = 400
const PATIENCE_MS = 5000
/** So often chance would have to leave one out. */
const MOST_TRIES = 60
const FEWEST_TRIES = 4

/** Pods and the node go to any of two, the others to the one that is here. */
const EXTERNAL_LOCAL = `table ip sampan-services {
	chain external-local-2-1 {
		ip saddr @pod-cidrs goto lb-2
		fib saddr type local jump mark-for-masquerade
		fib saddr type local goto lb-2
		dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 1 offset 65536 map @endpoints
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
    for (const family of FAMILIES) {
      describe(`${mode} ${family}`, () => {
        test.each(PACKET_FLOWS)('$name', async (scenario) => {
          const backend = openBackend(factory, scenario, family)
          try {
            await backend.apply(tableOf(scenario, family), 'all')
            const flows = scenario.flows.filter(([text]) => isKnown(parseFlow(text).protocol))
            const results = await Promise.all(
              flows.map(([text, expected]) => outcomeOf(text, expected, scenario, family)),
            )
            expect(results.map((result, i) => `${flows[i]![0]} = ${result}`)).toEqual(
              flows.map(([text, expected]) => `${text} = ${expected}`),
            )
          } finally {
            await backend[Symbol.asyncDispose]()
          }
        })

        test('nothing is left', async () => {
          const backend = openBackend(factory, PACKET_FLOWS[0]!, family)
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
    const backend = openBackend(BACKENDS.nftables!, scenario, 'IPv4')
    await backend.apply(tableOf(scenario, 'IPv4'), 'all')
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
      const backend = openBackend(BACKENDS.nftables!, scenario, 'IPv6')
      await backend.apply(tableOf(scenario, 'IPv6'), 'all')
      await backend[Symbol.asyncDispose]()
      const text = execFileSync('nsenter', [`--net=/run/netns/${name}`, 'nft', 'list', 'ruleset'], { encoding: 'utf8' })
      expect(text).toContain('comment "default/web:p')
    }
  })
})

function openBackend(factory: BackendFactory, scenario: FlowScenario, family: IPFamily): ServiceProxyBackend {
  const { linux, namespace } = network.node
  return factory({ linux, namespace, node: nodeOf(scenario, family), clock: systemClock, log: silentLogger })
}

function tableOf(scenario: FlowScenario, family: IPFamily): ServiceTable {
  const table = new ServiceTable({ name: THIS_NODE, labels: nodeLabelsOf(scenario) })
  const { services, endpointSlices } = objectsOf(scenario, family)
  for (const service of services) table.serviceChanged(undefined, service)
  for (const slice of endpointSlices) table.endpointSliceChanged(undefined, slice)
  table.update()
  return table
}

/** Kernels without SCTP are common: its rows are left to the tracer there. */
function isKnown(protocol: Protocol): boolean {
  return protocol !== 'SCTP'
}

/** In the words of the table. */
async function outcomeOf(text: string, expected: string, scenario: FlowScenario, family: IPFamily): Promise<string> {
  const { from, to, port, protocol } = parseFlow(text)
  const place = network.place(from)
  const target = { ip: addressOf(to, family), port, protocol, source: addressOf(from, family) }
  const wanted = expected.split(' ').filter((word) => /^[LR]\d$/.test(word))
  if (wanted.length === 0) return withoutEndpoint(await ask(place, target, SILENCE_MS), expected, to)
  const isSticky = scenario.services.some(({ affinitySeconds }) => affinitySeconds !== undefined)
  const seen = new Map<string, string>()
  for (let i = 0; i < MOST_TRIES; i++) {
    const answer = await ask(place, target, PATIENCE_MS)
    if (typeof answer === 'string') return answer
    seen.set(answer.name, answer.seen)
    if (i >= FEWEST_TRIES && (isSticky ? i > FEWEST_TRIES * 2 : seen.size >= wanted.length)) break
  }
  const snat = [...seen.values()].map((address) => address !== target.source)
  const suffix = snat.every(Boolean) ? ' snat' : snat.some(Boolean) ? ' some snat' : ''
  // A client that sticks sees one of them, and which one is chance.
  const names = isSticky && seen.size === 1 && wanted.includes([...seen.keys()][0]!) ? wanted : [...seen.keys()].sort()
  return `${names.join(' ')}${suffix}`
}

/** What the proxy leaves alone ends as it would without it: nobody listens, or the named one does. */
function withoutEndpoint(answer: Answer, expected: string, to: string): string {
  if (typeof answer !== 'string') return answer.name === to ? 'nothing' : answer.name
  return expected === 'nothing' ? 'nothing' : answer
}
