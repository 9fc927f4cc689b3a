import { clusterIP, externalIP, type FlowScenario, nodePort } from './scenario.contract.ts'

export const addresses: readonly FlowScenario[] = [
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
