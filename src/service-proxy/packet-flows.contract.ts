/**
 * What every mode must do with packets, as tables: from, to -> which endpoints, masqueraded or not. They do not mention
 * rules, so the same rows are run on a tracer over the rules of each mode and with real packets among namespaces.
 *
 * Places have names, the same in both families:
 *   P  a pod of this node          C1.. cluster IPs           L1 L2  endpoints on this node
 *   N  this node                   X1.. external IPs          R1 R2  endpoints on another node
 *   E  a client outside            B1.. load-balancer IPs     U      a cluster IP that no Service has
 *   F  another client outside
 *
 * An outcome is `L1 R1` (any of these), `L1 R1 snat` (they see the node's address), `reject`, `drop` or `nothing` (the
 * proxy lets it pass as it is).
 */
import { addresses } from './packet-flows/addresses.contract.ts'
import { affinity } from './packet-flows/affinity.contract.ts'
import { masquerade } from './packet-flows/masquerade.contract.ts'
import { protocols } from './packet-flows/protocols.contract.ts'
import type { FlowScenario } from './packet-flows/scenario.contract.ts'
import { terminating } from './packet-flows/terminating.contract.ts'
import { topology } from './packet-flows/topology.contract.ts'
import { withoutEndpoints } from './packet-flows/without-endpoints.contract.ts'
import type { Protocol } from './service-port.ts'

export type { FlowEndpoint, FlowScenario, FlowService } from './packet-flows/scenario.contract.ts'

export const PACKET_FLOWS: readonly FlowScenario[] = [
  ...masquerade,
  ...addresses,
  ...protocols,
  ...withoutEndpoints,
  ...terminating,
  ...topology,
  ...affinity,
]

export interface Flow {
  readonly from: string
  readonly to: string
  readonly port: number
  readonly protocol: Protocol
}

/** `P -> C1:80/UDP` */
export function parseFlow(text: string): Flow {
  const match = /^(\w+) -> (\w+):(\d+)(?:\/(\w+))?$/.exec(text)
  if (!match) throw new Error(`${text} is no flow`)
  const [, from, to, port, protocol] = match as unknown as [string, string, string, string, string | undefined]
  return { from, to, port: Number(port), protocol: (protocol ?? 'TCP') as Protocol }
}
