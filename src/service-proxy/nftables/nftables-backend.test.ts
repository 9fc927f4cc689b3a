import { expect, test } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { nftablesTracer } from '../nftables-tracer.ts'
import { addressOf, nodeOf, objectsOf, placementOf, TARGET_PORT, THIS_NODE } from '../packet-flow-objects.contract.ts'
import { packetFlowContract, type TracedProxy } from '../packet-flow-tracing.contract.ts'
import { clusterIP } from '../packet-flows/scenario.contract.ts'
import { ServiceTable } from '../service-table.ts'
import { createNftablesBackend } from './nftables-backend.ts'

const traced: TracedProxy = async (table, node) => {
  const linux = fakeLinux()
  const backend = createNftablesBackend({ linux, node, clock: systemClock, log: silentLogger })
  await backend.apply(table, 'all')
  const tracer = nftablesTracer(linux.openNftables(), node.nodeIPs)
  return { trace: (packet) => tracer.trace(packet), [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose]() }
}

packetFlowContract('nftables', traced)

test.each(['IPv4', 'IPv6'] as const)('%s: the node reaches itself directly as ever', async (family) => {
  const table = new ServiceTable({ name: THIS_NODE })
  const scenario = { name: 'API server', services: [{ ...clusterIP, endpoints: ['N'] }], flows: [] }
  const { services, endpointSlices } = objectsOf(scenario, placementOf(family))
  for (const service of services) table.serviceChanged(undefined, service)
  for (const slice of endpointSlices) table.endpointSliceChanged(undefined, slice)
  table.update()
  await using proxy = await traced(table, nodeOf(scenario, placementOf(family)))
  const source = addressOf('N', family)
  const packet = { source, protocol: 'TCP', port: TARGET_PORT } as const
  expect(proxy.trace({ ...packet, destination: source }).provenance).toEqual([])
  const byService = proxy.trace({ ...packet, destination: addressOf('C1', family), port: 80 })
  expect(byService.provenance).toContain('a pod that reaches itself')
})
