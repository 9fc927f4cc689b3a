/** The packet-flow tables asked with real packets: what the tests of all modes share. */

import { systemClock } from '../../src/base/clock.ts'
import type { IPFamily } from '../../src/base/ip-address.ts'
import { silentLogger } from '../../src/base/log.ts'
import type { BackendFactory, ServiceProxyBackend } from '../../src/service-proxy/backend.ts'
import {
  nodeLabelsOf,
  nodeOf,
  objectsOf,
  type Placement,
  THIS_NODE,
} from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { type FlowScenario, parseFlow } from '../../src/service-proxy/packet-flows.contract.ts'
import { ServiceTable } from '../../src/service-proxy/service-table.ts'
import type { FlowNetwork, FlowNode } from './flow-network.ts'
import { askSctp } from './flow-sctp.ts'
import { type Answer, ask as askByTcpOrUdp } from './flow-sockets.ts'

/** Long enough that a silent answer is silence, also on a busy machine. */
const SILENCE_MS = 400
const PATIENCE_MS = 5000
/** So often chance would have to leave one out. */
const MOST_TRIES = 60
const FEWEST_TRIES = 4

/**
 * All flows of the scenario: what was asked and how it ended. One after the other where endpoints take strict turns: two
 * clients in step would each always meet the same one.
 */
export async function flowOutcomes(
  network: FlowNetwork,
  scenario: FlowScenario,
  family: IPFamily,
  { inTurn = false } = {},
): Promise<{ readonly actual: string[]; readonly expected: string[] }> {
  const { flows } = scenario
  const results: string[] = []
  const askAll = flows.map(
    ([text, expected]) =>
      () =>
        outcomeOf(network, text, expected, scenario, family),
  )
  if (inTurn) for (const one of askAll) results.push(await one())
  else results.push(...(await Promise.all(askAll.map((one) => one()))))
  return {
    actual: results.map((result, i) => `${flows[i]![0]} = ${result}`),
    expected: flows.map(([text, expected]) => `${text} = ${expected}`),
  }
}

/** A proxy of the mode for one node of the network. */
export function openBackend(
  { name, place }: FlowNode,
  factory: BackendFactory,
  scenario: FlowScenario,
  placement: Placement,
): ServiceProxyBackend {
  return factory({ ...place, node: nodeOf(scenario, placement, name), clock: systemClock, log: silentLogger })
}

/** What the node with this name knows of the scenario. */
export function tableOf(scenario: FlowScenario, placement: Placement, nodeName = THIS_NODE): ServiceTable {
  const table = new ServiceTable({ name: nodeName, labels: nodeLabelsOf(scenario) })
  const { services, endpointSlices } = objectsOf(scenario, placement)
  for (const service of services) table.serviceChanged(undefined, service)
  for (const slice of endpointSlices) table.endpointSliceChanged(undefined, slice)
  table.update()
  return table
}

/** In the words of the table. */
async function outcomeOf(
  network: FlowNetwork,
  text: string,
  expected: string,
  scenario: FlowScenario,
  family: IPFamily,
): Promise<string> {
  const { from, to, port, protocol } = parseFlow(text)
  const place = network.place(from)
  const ask = protocol === 'SCTP' ? askSctp : askByTcpOrUdp
  const { addressOf } = network.placement
  const target = { ip: addressOf(to, family), port, protocol, source: addressOf(from, family) }
  const wanted = expected.split(' ').filter((word) => /^[LR]\d$/.test(word))
  if (wanted.length === 0) {
    const patience = expected === 'reject' ? PATIENCE_MS : SILENCE_MS
    return withoutEndpoint(await ask(place, target, patience), expected, to)
  }
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
