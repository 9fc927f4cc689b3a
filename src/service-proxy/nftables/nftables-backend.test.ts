import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { nftablesTracer } from '../nftables-tracer.ts'
import { packetFlowContract } from '../packet-flow-tracing.contract.ts'
import { createNftablesBackend } from './nftables-backend.ts'

packetFlowContract('nftables', async (table, node) => {
  const linux = fakeLinux()
  const backend = createNftablesBackend({ linux, node, clock: systemClock, log: silentLogger })
  await backend.apply(table, 'all')
  const tracer = nftablesTracer(linux.openNftables(), node.nodeIPs)
  return { trace: (packet) => tracer.trace(packet), [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose]() }
})
