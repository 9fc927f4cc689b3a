import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { packetFlowContract } from '../packet-flow-tracing.contract.ts'
import { fakeIptables } from './fake-iptables.ts'
import { createIptablesBackend } from './iptables-backend.ts'
import { iptablesTracer } from './iptables-tracer.ts'

packetFlowContract('iptables', async (table, node) => {
  const commands = fakeIptables()
  const options = { linux: fakeLinux(), node, clock: systemClock, log: silentLogger }
  const backend = createIptablesBackend(options, { commands })
  await backend.apply(table, 'all')
  const tracer = iptablesTracer({ IPv4: await commands.save('IPv4'), IPv6: await commands.save('IPv6') }, node.nodeIPs)
  return { trace: (packet) => tracer.trace(packet), [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose]() }
})
