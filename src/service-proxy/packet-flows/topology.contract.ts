import { clusterIP, type FlowEndpoint, type FlowScenario, nodePort } from './scenario.contract.ts'

const hinted = (is: string, zone: string, node?: string): FlowEndpoint => ({
  is,
  zones: [zone],
  ...(node !== undefined && { nodes: [node] }),
})

export const topology: readonly FlowScenario[] = [
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
