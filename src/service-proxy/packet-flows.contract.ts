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
import type { Protocol } from './service-port.ts'

export interface FlowEndpoint {
  /** `L1`, or with conditions: `L1 terminating`, `R1 unready`, `R2 dead` (terminating and not serving). */
  readonly is: string
  readonly zones?: readonly string[]
  readonly nodes?: readonly string[]
}

export interface FlowService {
  readonly name: string
  readonly clusterIP: string
  /** `80`, `80/UDP`, `80:30080` with a node port. */
  readonly ports: readonly string[]
  readonly externalIPs?: readonly string[]
  readonly loadBalancerIPs?: readonly string[]
  readonly ipMode?: 'VIP' | 'Proxy'
  /** Names of places, each as a range of its own. */
  readonly sourceRanges?: readonly string[]
  readonly internal?: 'Local'
  readonly external?: 'Local'
  readonly affinitySeconds?: number
  readonly endpoints: readonly (string | FlowEndpoint)[]
}

export interface FlowScenario {
  readonly name: string
  readonly masqueradeAll?: boolean
  readonly withoutDetector?: boolean
  readonly zone?: string
  readonly services: readonly FlowService[]
  /** `P -> C1:80` or `P -> C1:80/UDP`, and the outcome. */
  readonly flows: readonly (readonly [string, string])[]
}

const nodePort: FlowService = {
  name: 'web',
  clusterIP: 'C1',
  ports: ['80:30080'],
  loadBalancerIPs: ['B1'],
  endpoints: ['L1', 'R1'],
}
const clusterIP: FlowService = { name: 'web', clusterIP: 'C1', ports: ['80'], endpoints: ['L1', 'R1'] }
const externalIP: FlowService = { ...clusterIP, externalIPs: ['X1'] }

/** From each place to each kind of address: the table that decides who keeps the client's address. */
const masquerade: readonly FlowScenario[] = [
  {
    name: 'default policies',
    services: [nodePort],
    flows: [
      ['P -> C1:80', 'L1 R1'],
      ['P -> N:30080', 'L1 R1 snat'],
      ['P -> B1:80', 'L1 R1 snat'],
      ['N -> C1:80', 'L1 R1 snat'],
      ['N -> N:30080', 'L1 R1 snat'],
      ['N -> B1:80', 'L1 R1 snat'],
      ['E -> C1:80', 'L1 R1 snat'],
      ['E -> N:30080', 'L1 R1 snat'],
      ['E -> B1:80', 'L1 R1 snat'],
    ],
  },
  {
    name: 'external traffic policy Local',
    services: [{ ...nodePort, external: 'Local' }],
    flows: [
      ['P -> C1:80', 'L1 R1'],
      ['P -> N:30080', 'L1 R1'],
      ['P -> B1:80', 'L1 R1'],
      ['N -> C1:80', 'L1 R1 snat'],
      ['N -> N:30080', 'L1 R1 snat'],
      ['N -> B1:80', 'L1 R1 snat'],
      ['E -> C1:80', 'L1 R1 snat'],
      ['E -> N:30080', 'L1'],
      ['E -> B1:80', 'L1'],
    ],
  },
  {
    name: 'internal traffic policy Local',
    services: [{ ...nodePort, internal: 'Local' }],
    flows: [
      ['P -> C1:80', 'L1'],
      ['P -> N:30080', 'L1 R1 snat'],
      ['P -> B1:80', 'L1 R1 snat'],
      ['N -> C1:80', 'L1 snat'],
      ['N -> N:30080', 'L1 R1 snat'],
      ['N -> B1:80', 'L1 R1 snat'],
      ['E -> C1:80', 'L1 snat'],
      ['E -> N:30080', 'L1 R1 snat'],
      ['E -> B1:80', 'L1 R1 snat'],
    ],
  },
  {
    name: 'both policies Local',
    services: [{ ...nodePort, internal: 'Local', external: 'Local' }],
    flows: [
      ['P -> C1:80', 'L1'],
      ['P -> B1:80', 'L1 R1'],
      ['N -> C1:80', 'L1 snat'],
      ['N -> B1:80', 'L1 R1 snat'],
      ['E -> N:30080', 'L1'],
      ['E -> B1:80', 'L1'],
    ],
  },
  {
    name: 'masquerade all',
    masqueradeAll: true,
    services: [nodePort],
    flows: [
      ['P -> C1:80', 'L1 R1 snat'],
      ['N -> C1:80', 'L1 R1 snat'],
      ['E -> C1:80', 'L1 R1 snat'],
      ['P -> N:30080', 'L1 R1 snat'],
    ],
  },
  {
    name: 'masquerade all, internal traffic policy Local',
    masqueradeAll: true,
    services: [{ ...nodePort, internal: 'Local' }],
    flows: [
      ['P -> C1:80', 'L1 snat'],
      ['E -> C1:80', 'L1 snat'],
    ],
  },
  {
    name: 'masquerade all, external traffic policy Local',
    masqueradeAll: true,
    services: [{ ...nodePort, external: 'Local' }],
    flows: [
      ['P -> C1:80', 'L1 R1 snat'],
      ['P -> B1:80', 'L1 R1'],
      ['E -> B1:80', 'L1'],
      ['E -> N:30080', 'L1'],
    ],
  },
  {
    name: 'pods cannot be told from others',
    withoutDetector: true,
    services: [nodePort],
    flows: [
      ['P -> C1:80', 'L1 R1'],
      ['N -> C1:80', 'L1 R1'],
      ['E -> C1:80', 'L1 R1'],
      ['E -> N:30080', 'L1 R1 snat'],
    ],
  },
  {
    name: 'pods cannot be told from others, external traffic policy Local',
    withoutDetector: true,
    services: [{ ...nodePort, external: 'Local' }],
    flows: [
      ['P -> N:30080', 'L1'],
      ['P -> B1:80', 'L1'],
      ['N -> B1:80', 'L1 R1 snat'],
      ['E -> B1:80', 'L1'],
    ],
  },
]

const addresses: readonly FlowScenario[] = [
  {
    name: 'a pod that reaches itself is masqueraded',
    services: [{ ...clusterIP, endpoints: ['L1'] }],
    flows: [
      ['L1 -> C1:80', 'L1 snat'],
      ['L2 -> C1:80', 'L1'],
    ],
  },
  {
    name: 'hairpin through load balancer and node port, external traffic policy Local',
    services: [{ ...nodePort, external: 'Local', endpoints: ['L1'] }],
    flows: [
      ['L1 -> B1:80', 'L1 snat'],
      ['L1 -> N:30080', 'L1 snat'],
      ['P -> B1:80', 'L1'],
    ],
  },
  {
    name: 'external IPs are as load-balancer IPs',
    services: [externalIP],
    flows: [
      ['P -> X1:80', 'L1 R1 snat'],
      ['N -> X1:80', 'L1 R1 snat'],
      ['E -> X1:80', 'L1 R1 snat'],
    ],
  },
  {
    name: 'external IPs follow the external policy',
    services: [{ ...externalIP, external: 'Local' }],
    flows: [
      ['P -> X1:80', 'L1 R1'],
      ['N -> X1:80', 'L1 R1 snat'],
      ['E -> X1:80', 'L1'],
    ],
  },
  {
    name: 'external IPs do not follow the internal policy',
    services: [{ ...externalIP, internal: 'Local' }],
    flows: [
      ['P -> C1:80', 'L1'],
      ['P -> X1:80', 'L1 R1 snat'],
      ['E -> X1:80', 'L1 R1 snat'],
    ],
  },
  {
    name: 'load balancers that must see the packet are not short-cut',
    services: [{ ...nodePort, ipMode: 'Proxy' }],
    flows: [
      ['P -> B1:80', 'nothing'],
      ['N -> B1:80', 'nothing'],
      ['E -> B1:80', 'nothing'],
      ['E -> N:30080', 'L1 R1 snat'],
    ],
  },
  {
    name: 'load balancers with ipMode VIP are short-cut',
    services: [{ ...nodePort, ipMode: 'VIP' }],
    flows: [['P -> B1:80', 'L1 R1 snat']],
  },
  {
    name: 'source ranges close load-balancer IPs only',
    services: [{ ...nodePort, sourceRanges: ['E'] }],
    flows: [
      ['E -> B1:80', 'L1 R1 snat'],
      ['F -> B1:80', 'drop'],
      ['P -> B1:80', 'drop'],
      ['N -> B1:80', 'drop'],
      ['F -> N:30080', 'L1 R1 snat'],
      ['F -> C1:80', 'L1 R1 snat'],
    ],
  },
  {
    name: 'source ranges with the node among them',
    services: [{ ...nodePort, sourceRanges: ['N', 'F'] }],
    flows: [
      ['N -> B1:80', 'L1 R1 snat'],
      ['F -> B1:80', 'L1 R1 snat'],
      ['E -> B1:80', 'drop'],
    ],
  },
  {
    name: 'source ranges and external traffic policy Local',
    services: [{ ...nodePort, external: 'Local', sourceRanges: ['E', 'P'] }],
    flows: [
      ['E -> B1:80', 'L1'],
      ['P -> B1:80', 'L1 R1'],
      ['F -> B1:80', 'drop'],
      ['F -> N:30080', 'L1'],
    ],
  },
  {
    name: 'two Services do not mix',
    services: [
      { ...clusterIP, endpoints: ['L1'] },
      { ...clusterIP, name: 'other', clusterIP: 'C2', endpoints: ['R1', 'R2'] },
    ],
    flows: [
      ['P -> C1:80', 'L1'],
      ['P -> C2:80', 'R1 R2'],
      ['E -> C2:80', 'R1 R2 snat'],
    ],
  },
  {
    name: 'many endpoints',
    services: [{ ...nodePort, endpoints: ['L1', 'L2', 'R1', 'R2'] }],
    flows: [
      ['P -> C1:80', 'L1 L2 R1 R2'],
      ['E -> N:30080', 'L1 L2 R1 R2 snat'],
      ['E -> B1:80', 'L1 L2 R1 R2 snat'],
    ],
  },
  {
    name: 'many endpoints, external traffic policy Local',
    services: [{ ...nodePort, external: 'Local', endpoints: ['R1', 'L1', 'R2', 'L2'] }],
    flows: [
      ['P -> B1:80', 'L1 L2 R1 R2'],
      ['E -> N:30080', 'L1 L2'],
      ['E -> B1:80', 'L1 L2'],
    ],
  },
]

const protocols: readonly FlowScenario[] = [
  {
    name: 'UDP',
    services: [{ ...nodePort, ports: ['53:30053/UDP'] }],
    flows: [
      ['P -> C1:53/UDP', 'L1 R1'],
      ['N -> C1:53/UDP', 'L1 R1 snat'],
      ['E -> N:30053/UDP', 'L1 R1 snat'],
      ['E -> B1:53/UDP', 'L1 R1 snat'],
    ],
  },
  {
    name: 'UDP, external traffic policy Local',
    services: [{ ...nodePort, ports: ['53:30053/UDP'], external: 'Local' }],
    flows: [
      ['E -> N:30053/UDP', 'L1'],
      ['P -> B1:53/UDP', 'L1 R1'],
    ],
  },
  {
    name: 'SCTP',
    services: [{ ...nodePort, ports: ['80:30080/SCTP'] }],
    flows: [
      ['P -> C1:80/SCTP', 'L1 R1'],
      ['E -> N:30080/SCTP', 'L1 R1 snat'],
      ['P -> C1:80', 'reject'],
    ],
  },
  {
    name: 'protocols are apart',
    services: [{ ...nodePort, ports: ['80:30080'] }],
    flows: [
      ['P -> C1:80/UDP', 'reject'],
      ['E -> C1:80/UDP', 'reject'],
      ['N -> C1:80/UDP', 'reject'],
      ['E -> N:30080/UDP', 'nothing'],
    ],
  },
  {
    name: 'one number, two protocols',
    services: [{ ...clusterIP, ports: ['53', '53/UDP'] }],
    flows: [
      ['P -> C1:53', 'L1 R1'],
      ['P -> C1:53/UDP', 'L1 R1'],
    ],
  },
  {
    name: 'ports that the Service does not have',
    services: [clusterIP],
    flows: [
      ['P -> C1:81', 'reject'],
      ['N -> C1:81', 'reject'],
      ['E -> C1:81', 'reject'],
    ],
  },
  {
    name: 'cluster IPs that nobody has',
    services: [clusterIP],
    flows: [
      ['P -> U:80', 'drop'],
      ['N -> U:80', 'drop'],
      ['E -> U:80', 'drop'],
    ],
  },
  {
    name: 'what is no Service passes',
    services: [clusterIP],
    flows: [
      ['P -> E:80', 'nothing'],
      ['E -> N:80', 'nothing'],
      ['E -> N:30080', 'nothing'],
      ['P -> R2:8080', 'nothing'],
    ],
  },
]

const withoutEndpoints: readonly FlowScenario[] = [
  {
    name: 'no endpoints at all',
    services: [{ ...nodePort, externalIPs: ['X1'], endpoints: [] }],
    flows: [
      ['P -> C1:80', 'reject'],
      ['N -> C1:80', 'reject'],
      ['E -> C1:80', 'reject'],
      ['P -> N:30080', 'reject'],
      ['E -> N:30080', 'reject'],
      ['P -> X1:80', 'reject'],
      ['E -> X1:80', 'reject'],
      ['P -> B1:80', 'reject'],
      ['E -> B1:80', 'reject'],
    ],
  },
  {
    name: 'no endpoints at all, UDP',
    services: [{ ...nodePort, ports: ['53:30053/UDP'], endpoints: [] }],
    flows: [
      ['P -> C1:53/UDP', 'reject'],
      ['E -> N:30053/UDP', 'reject'],
    ],
  },
  {
    name: 'no endpoints at all, policies Local',
    services: [{ ...nodePort, internal: 'Local', external: 'Local', endpoints: [] }],
    flows: [
      ['P -> C1:80', 'reject'],
      ['E -> N:30080', 'reject'],
      ['E -> B1:80', 'reject'],
    ],
  },
  {
    name: 'external traffic policy Local and none here',
    services: [{ ...nodePort, external: 'Local', externalIPs: ['X1'], endpoints: ['R1', 'R2'] }],
    flows: [
      ['P -> C1:80', 'R1 R2'],
      ['P -> B1:80', 'R1 R2'],
      ['P -> N:30080', 'R1 R2'],
      ['N -> B1:80', 'R1 R2 snat'],
      ['N -> N:30080', 'R1 R2 snat'],
      ['E -> B1:80', 'drop'],
      ['E -> X1:80', 'drop'],
      ['E -> N:30080', 'drop'],
      ['E -> C1:80', 'R1 R2 snat'],
    ],
  },
  {
    name: 'internal traffic policy Local and none here',
    services: [{ ...nodePort, internal: 'Local', endpoints: ['R1'] }],
    flows: [
      ['P -> C1:80', 'drop'],
      ['N -> C1:80', 'drop'],
      ['E -> C1:80', 'drop'],
      ['E -> B1:80', 'R1 snat'],
      ['E -> N:30080', 'R1 snat'],
    ],
  },
  {
    name: 'only endpoints that are not ready',
    services: [{ ...nodePort, endpoints: ['L1 unready', 'R1 unready'] }],
    flows: [
      ['P -> C1:80', 'reject'],
      ['E -> N:30080', 'reject'],
    ],
  },
  {
    name: 'no endpoints and source ranges: the firewall is first',
    services: [{ ...nodePort, sourceRanges: ['E'], endpoints: [] }],
    flows: [
      ['E -> B1:80', 'reject'],
      ['F -> B1:80', 'drop'],
    ],
  },
]

const terminating: readonly FlowScenario[] = [
  {
    name: 'terminating endpoints are left out while others are ready',
    services: [{ ...nodePort, endpoints: ['L1 terminating', 'R1'] }],
    flows: [
      ['P -> C1:80', 'R1'],
      ['E -> N:30080', 'R1 snat'],
    ],
  },
  {
    name: 'terminating endpoints are better than none',
    services: [{ ...nodePort, endpoints: ['L1 terminating', 'R1 terminating', 'R2 dead'] }],
    flows: [
      ['P -> C1:80', 'L1 R1'],
      ['E -> N:30080', 'L1 R1 snat'],
      ['E -> B1:80', 'L1 R1 snat'],
    ],
  },
  {
    name: 'terminating and not serving is nothing',
    services: [{ ...nodePort, endpoints: ['L1 dead', 'R1 dead'] }],
    flows: [
      ['P -> C1:80', 'reject'],
      ['E -> N:30080', 'reject'],
    ],
  },
  {
    name: 'external Local policy: local ready before local terminating',
    services: [{ ...nodePort, external: 'Local', endpoints: ['L1', 'L2 terminating', 'R1'] }],
    flows: [
      ['P -> B1:80', 'L1 R1'],
      ['E -> B1:80', 'L1'],
      ['E -> N:30080', 'L1'],
    ],
  },
  {
    name: 'external Local policy: local terminating although others are ready elsewhere',
    services: [{ ...nodePort, external: 'Local', endpoints: ['L1 terminating', 'R1'] }],
    flows: [
      ['P -> C1:80', 'R1'],
      ['P -> B1:80', 'R1'],
      ['E -> B1:80', 'L1'],
      ['E -> N:30080', 'L1'],
    ],
  },
  {
    name: 'external Local policy: local ones neither ready nor serving',
    services: [{ ...nodePort, external: 'Local', endpoints: ['L1 dead', 'L2 unready', 'R1'] }],
    flows: [
      ['E -> B1:80', 'drop'],
      ['E -> N:30080', 'drop'],
      ['N -> B1:80', 'R1 snat'],
    ],
  },
  {
    name: 'internal Local policy: local terminating although others are ready elsewhere',
    services: [{ ...clusterIP, internal: 'Local', endpoints: ['L1 terminating', 'R1'] }],
    flows: [
      ['P -> C1:80', 'L1'],
      ['N -> C1:80', 'L1 snat'],
    ],
  },
]

const hinted = (is: string, zone: string, node?: string): FlowEndpoint => ({
  is,
  zones: [zone],
  ...(node !== undefined && { nodes: [node] }),
})

const topology: readonly FlowScenario[] = [
  {
    name: 'endpoints of the own zone',
    zone: 'a',
    services: [{ ...nodePort, endpoints: [hinted('L1', 'a'), hinted('R1', 'b'), hinted('R2', 'a')] }],
    flows: [
      ['P -> C1:80', 'L1 R2'],
      ['E -> N:30080', 'L1 R2 snat'],
    ],
  },
  {
    name: 'hints are ignored if one is missing',
    zone: 'a',
    services: [{ ...clusterIP, endpoints: [hinted('L1', 'a'), 'R1'] }],
    flows: [['P -> C1:80', 'L1 R1']],
  },
  {
    name: 'hints are ignored if none is for this zone',
    zone: 'c',
    services: [{ ...clusterIP, endpoints: [hinted('L1', 'a'), hinted('R1', 'b')] }],
    flows: [['P -> C1:80', 'L1 R1']],
  },
  {
    name: 'hints are ignored if the node has no zone',
    services: [{ ...clusterIP, endpoints: [hinted('L1', 'a'), hinted('R1', 'b')] }],
    flows: [['P -> C1:80', 'L1 R1']],
  },
  {
    name: 'the same node before the same zone',
    zone: 'a',
    services: [{ ...clusterIP, endpoints: [hinted('L1', 'a', 'here'), hinted('R1', 'a', 'there')] }],
    flows: [['P -> C1:80', 'L1']],
  },
  {
    name: 'the same zone if nothing is on the node',
    zone: 'a',
    services: [{ ...clusterIP, endpoints: [hinted('R1', 'a', 'there'), hinted('R2', 'b', 'elsewhere')] }],
    flows: [['P -> C1:80', 'R1']],
  },
  {
    name: 'hints do not count for Local policies',
    zone: 'b',
    services: [{ ...nodePort, external: 'Local', endpoints: [hinted('L1', 'a'), hinted('R1', 'b')] }],
    flows: [
      ['P -> C1:80', 'R1'],
      ['E -> N:30080', 'L1'],
    ],
  },
]

const affinity: readonly FlowScenario[] = [
  {
    name: 'session affinity',
    services: [{ ...nodePort, affinitySeconds: 10_800 }],
    flows: [
      ['P -> C1:80', 'L1 R1'],
      ['N -> C1:80', 'L1 R1 snat'],
      ['E -> N:30080', 'L1 R1 snat'],
      ['E -> B1:80', 'L1 R1 snat'],
    ],
  },
  {
    name: 'session affinity, policies Local',
    services: [
      { ...nodePort, affinitySeconds: 60, internal: 'Local', external: 'Local', endpoints: ['L1', 'L2', 'R1'] },
    ],
    flows: [
      ['P -> C1:80', 'L1 L2'],
      ['P -> B1:80', 'L1 L2 R1'],
      ['E -> B1:80', 'L1 L2'],
      ['E -> N:30080', 'L1 L2'],
    ],
  },
  {
    name: 'session affinity and no endpoints',
    services: [{ ...nodePort, affinitySeconds: 60, endpoints: [] }],
    flows: [['P -> C1:80', 'reject']],
  },
]

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
