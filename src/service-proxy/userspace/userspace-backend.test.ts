import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { nftablesTracer } from '../nftables-tracer.ts'
import { packetFlowContract } from '../packet-flow-tracing.contract.ts'
import type { PacketTracer } from '../packet-tracer.ts'
import type { Relay } from './relay.ts'
import { createUserspaceBackend, USERSPACE_TABLE_NAME, type UserspaceBackend } from './userspace-backend.ts'

/** Has ports, and no sockets. */
function fakeRelay(): Relay {
  let port = 40_000
  return { open: async () => port++, change() {}, close() {}, stop() {}, onFailure: undefined }
}

/** The rules lead to a listener; what is behind it is in turn for every client. */
function throughListeners(tracer: PacketTracer, { listeners }: UserspaceBackend): PacketTracer {
  return {
    trace(packet) {
      const outcome = tracer.trace(packet)
      const endpoints = outcome.endpoints.flatMap((target) => {
        const found = listeners.behind(Number(target.slice(target.lastIndexOf(':') + 1)))
        return found.length > 0 ? found : [target]
      })
      return { ...outcome, endpoints, masqueraded: [] }
    },
  }
}

packetFlowContract(
  'userspace',
  async (table, node) => {
    const linux = fakeLinux()
    const options = { linux, node, clock: systemClock, log: silentLogger }
    const backend = createUserspaceBackend(options, { startRelay: fakeRelay })
    await backend.apply(table, 'all')
    const tracer = nftablesTracer(linux.openNftables(), node.nodeIPs, USERSPACE_TABLE_NAME)
    const { trace } = throughListeners(tracer, backend)
    return { trace, [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose]() }
  },
  { hidesClients: true },
)
