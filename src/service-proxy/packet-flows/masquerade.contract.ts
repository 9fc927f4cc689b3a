import { type FlowScenario, nodePort } from './scenario.contract.ts'

/** From each place to each kind of address: the table that decides who keeps the client's address. */
export const masquerade: readonly FlowScenario[] = [
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
