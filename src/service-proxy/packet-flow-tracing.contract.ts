/** The packet-flow tables on a tracer over the rules of a mode. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { IPFamily } from '../base/ip-address.ts'
import type { ProxyNode } from './backend.ts'
import {
  addressOf,
  nodeLabelsOf,
  nodeOf,
  objectsOf,
  placementOf,
  TARGET_PORT,
  THIS_NODE,
} from './packet-flow-objects.contract.ts'
import { PACKET_FLOWS, parseFlow } from './packet-flows.contract.ts'
import type { PacketTracer, TraceOutcome } from './packet-tracer.ts'
import { ServiceTable } from './service-table.ts'

/** Brings the table into effect and gives what follows packets through it. */
export type TracedProxy = (table: ServiceTable, node: ProxyNode) => Promise<PacketTracer & AsyncDisposable>

const ENDPOINTS = ['L1', 'L2', 'R1', 'R2']
const FAMILIES: readonly IPFamily[] = ['IPv4', 'IPv6']

export interface TracingOptions {
  /** A proxy that speaks to endpoints itself: no endpoint sees the client, whatever the table says. */
  readonly hidesClients?: boolean
}

export function packetFlowContract(mode: string, start: TracedProxy, { hidesClients }: TracingOptions = {}): void {
  for (const family of FAMILIES) {
    describe.each(PACKET_FLOWS)(`${mode} ${family}: $name`, (scenario) => {
      let tracer: PacketTracer & AsyncDisposable
      beforeAll(async () => {
        const table = new ServiceTable({ name: THIS_NODE, labels: nodeLabelsOf(scenario) })
        const { services, endpointSlices } = objectsOf(scenario, placementOf(family))
        for (const service of services) table.serviceChanged(undefined, service)
        for (const slice of endpointSlices) table.endpointSliceChanged(undefined, slice)
        table.update()
        tracer = await start(table, nodeOf(scenario, placementOf(family)))
      })
      afterAll(() => tracer?.[Symbol.asyncDispose]())

      test.each(scenario.flows)('%s = %s', (text, expected) => {
        const { from, to, port, protocol } = parseFlow(text)
        const outcome = tracer.trace({
          source: addressOf(from, family),
          destination: addressOf(to, family),
          port,
          protocol,
          ...(from !== 'N' && { inputInterface: 'PLR'.includes(from[0]!) ? 'cni0' : 'eth0' }),
        })
        expect(outcomeText(outcome, family)).toBe(hidesClients ? expected.replace(/ snat$/, '') : expected)
      })
    })
  }
}

/** In the words of the table. */
function outcomeText({ verdict, endpoints, masqueraded }: TraceOutcome, family: IPFamily): string {
  if (verdict === 'accept') return 'nothing'
  if (verdict !== 'endpoints') return verdict
  const names = endpoints.map((target) => nameOf(target, family)).sort()
  const all = masqueraded.length === endpoints.length
  return `${names.join(' ')}${all ? ' snat' : masqueraded.length > 0 ? ' some snat' : ''}`
}

function nameOf(target: string, family: IPFamily): string {
  const found = ENDPOINTS.find((name) => {
    const ip = addressOf(name, family)
    return target === (family === 'IPv4' ? `${ip}:${TARGET_PORT}` : `[${ip}]:${TARGET_PORT}`)
  })
  return found ?? target
}
