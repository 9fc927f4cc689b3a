import { clusterIP, type FlowScenario, nodePort } from './scenario.contract.ts'

export const terminating: readonly FlowScenario[] = [
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
