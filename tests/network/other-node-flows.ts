/** Rows for clients on another node: O is that node, Q a pod of it. Each node has a proxy, and R1 is at home there. */
import type { FlowScenario } from '../../src/service-proxy/packet-flows.contract.ts'

const web = {
  name: 'web',
  clusterIP: 'C1',
  ports: ['80:30080'],
  loadBalancerIPs: ['B1'],
  endpoints: ['L1', 'R1'],
} as const

export const OTHER_NODE_FLOWS: readonly FlowScenario[] = [
  {
    name: 'clients of another node, default policies',
    services: [web],
    flows: [
      ['Q -> C1:80', 'L1 R1'],
      ['Q -> B1:80', 'L1 R1 snat'],
      ['Q -> O:30080', 'L1 R1 snat'],
      ['Q -> N:30080', 'L1 R1 snat'],
      ['O -> C1:80', 'L1 R1 snat'],
      ['O -> O:30080', 'L1 R1 snat'],
      ['O -> N:30080', 'L1 R1 snat'],
      ['R1 -> C1:80', 'L1 R1 some snat'],
      ['P -> O:30080', 'L1 R1 snat'],
      ['N -> O:30080', 'L1 R1 snat'],
      ['E -> O:30080', 'L1 R1 snat'],
    ],
  },
  {
    name: 'clients of another node, external traffic policy Local',
    services: [{ ...web, external: 'Local' }],
    flows: [
      ['Q -> B1:80', 'L1 R1'],
      ['Q -> O:30080', 'L1 R1'],
      // The pod network has given it the address of its node before it comes to the other one.
      ['Q -> N:30080', 'L1 snat'],
      ['P -> O:30080', 'R1 snat'],
      ['O -> N:30080', 'L1'],
      ['N -> O:30080', 'R1'],
      ['E -> O:30080', 'R1'],
      ['E -> N:30080', 'L1'],
    ],
  },
  {
    name: 'clients of another node, internal traffic policy Local',
    services: [{ ...web, internal: 'Local' }],
    flows: [
      ['P -> C1:80', 'L1'],
      ['Q -> C1:80', 'R1'],
      ['O -> C1:80', 'R1 snat'],
      ['Q -> B1:80', 'L1 R1 snat'],
    ],
  },
  {
    name: 'policies Local and nothing on the other node',
    services: [{ ...web, internal: 'Local', external: 'Local', endpoints: ['L1', 'L2'] }],
    flows: [
      ['Q -> C1:80', 'drop'],
      ['Q -> B1:80', 'L1 L2'],
      ['E -> O:30080', 'drop'],
      ['P -> O:30080', 'drop'],
      ['O -> N:30080', 'L1 L2'],
    ],
  },
  {
    name: 'clients of another node, no endpoints at all',
    services: [{ ...web, endpoints: [] }],
    flows: [
      ['Q -> C1:80', 'reject'],
      ['O -> C1:80', 'reject'],
      ['Q -> N:30080', 'reject'],
      ['P -> O:30080', 'reject'],
    ],
  },
  {
    name: 'clients of another node, UDP',
    services: [{ ...web, ports: ['53:30053/UDP'] }],
    flows: [
      ['Q -> C1:53/UDP', 'L1 R1'],
      ['O -> C1:53/UDP', 'L1 R1 snat'],
      ['Q -> N:30053/UDP', 'L1 R1 snat'],
      ['E -> O:30053/UDP', 'L1 R1 snat'],
    ],
  },
  {
    name: 'clients of another node, session affinity',
    services: [{ ...web, affinitySeconds: 60 }],
    flows: [
      ['Q -> C1:80', 'L1 R1'],
      ['Q -> N:30080', 'L1 R1 snat'],
    ],
  },
]
