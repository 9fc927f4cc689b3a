import { type FlowScenario, nodePort } from './scenario.contract.ts'

export const affinity: readonly FlowScenario[] = [
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
