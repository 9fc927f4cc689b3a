import { type FlowScenario, nodePort } from './scenario.contract.ts'

export const withoutEndpoints: readonly FlowScenario[] = [
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
