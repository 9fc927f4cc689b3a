import { clusterIP, type FlowScenario, nodePort } from './scenario.contract.ts'

export const protocols: readonly FlowScenario[] = [
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
      ['N -> C1:80/SCTP', 'L1 R1 snat'],
      ['E -> N:30080/SCTP', 'L1 R1 snat'],
      ['E -> B1:80/SCTP', 'L1 R1 snat'],
      ['P -> C1:80', 'reject'],
    ],
  },
  {
    name: 'SCTP, external traffic policy Local',
    services: [{ ...nodePort, ports: ['80:30080/SCTP'], external: 'Local' }],
    flows: [
      ['E -> N:30080/SCTP', 'L1'],
      ['P -> B1:80/SCTP', 'L1 R1'],
    ],
  },
  {
    name: 'SCTP without endpoints',
    services: [{ ...nodePort, ports: ['80:30080/SCTP'], endpoints: [] }],
    flows: [
      ['P -> C1:80/SCTP', 'reject'],
      ['P -> C1:81/SCTP', 'reject'],
      ['E -> N:30080/SCTP', 'reject'],
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
