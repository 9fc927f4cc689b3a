import { expect, test } from 'vitest'
import { fakeLinux } from '../../linux/fake-linux.ts'
import type { ServicePort } from '../service-port.ts'
import { endStaleFlows } from './stale-flows.ts'

const port = (serving: readonly string[], more: Partial<ServicePort> = {}): ServicePort => ({
  key: 'default/dns/UDP/IPv4',
  service: 'default/dns',
  name: 'default/dns',
  family: 'IPv4',
  protocol: 'UDP',
  port: 53,
  clusterIP: '10.96.0.10',
  nodePort: 30053,
  externalIPs: ['172.16.1.1'],
  loadBalancerIPs: ['172.16.2.1'],
  sourceRanges: [],
  affinitySeconds: undefined,
  internalPolicyLocal: false,
  externalPolicyLocal: false,
  healthCheckNodePort: 0,
  clusterEndpoints: [],
  localEndpoints: [],
  servingEndpoints: serving.map((ip) => ({ ip, port: 5353, isLocal: true, id: `${ip} 5353` })),
  hasEndpoints: serving.length > 0,
  ...more,
})

/** To where a client sent, who answers, and whether the flow stays when only 10.244.0.5:5353 serves. */
const FLOWS: [string, string, number, string, number, number, boolean][] = [
  ['to the cluster IP, to a serving endpoint', '10.96.0.10', 53, '10.244.0.5', 5353, 17, true],
  ['to the cluster IP, to an endpoint that is gone', '10.96.0.10', 53, '10.244.0.6', 5353, 17, false],
  ['to the cluster IP, to a port that is gone', '10.96.0.10', 53, '10.244.0.5', 9999, 17, false],
  ['to the cluster IP, never changed', '10.96.0.10', 53, '10.96.0.10', 53, 17, false],
  ['to the external IP, to an endpoint that is gone', '172.16.1.1', 53, '10.244.0.6', 5353, 17, false],
  ['to the load-balancer IP, to an endpoint that is gone', '172.16.2.1', 53, '10.244.0.6', 5353, 17, false],
  ['to the load-balancer IP, to a serving endpoint', '172.16.2.1', 53, '10.244.0.5', 5353, 17, true],
  ['to the node port, to an endpoint that is gone', '192.168.10.1', 30053, '10.244.0.6', 5353, 17, false],
  ['to the node port, to a serving endpoint', '192.168.10.1', 30053, '10.244.0.5', 5353, 17, true],
  ['to another port of the cluster IP', '10.96.0.10', 54, '10.244.0.6', 5353, 17, true],
  ['to someone else', '10.96.0.11', 53, '10.244.0.6', 5353, 17, true],
  ['by TCP', '10.96.0.10', 53, '10.244.0.6', 5353, 6, true],
  ['by SCTP', '10.96.0.10', 53, '10.244.0.6', 5353, 132, true],
]

test.each(FLOWS)('%s', (_, destination, destinationPort, source, sourcePort, protocol, stays) => {
  const conntrack = fakeLinux().openConntrack()
  const client = '10.244.0.20'
  conntrack.insert({
    original: { source: client, sourcePort: 40_000, destination, destinationPort, protocol },
    reply: { source, sourcePort, destination: client, destinationPort: 40_000, protocol },
    timeoutSeconds: 30,
  })
  expect(endStaleFlows(conntrack, [port(['10.244.0.5'])])).toBe(stays ? 0 : 1)
  expect(conntrack.list('ip')).toHaveLength(stays ? 1 : 0)
})

test('many ports at once, IPv6 among them', () => {
  const conntrack = fakeLinux().openConntrack()
  const ports = Array.from({ length: 30 }, (_, i) =>
    i % 2 === 0
      ? port([], { clusterIP: `10.96.1.${i}`, nodePort: 0 })
      : port([], { clusterIP: `fd00::${i}`, family: 'IPv6', nodePort: 0, externalIPs: [], loadBalancerIPs: [] }),
  )
  for (const { clusterIP, family } of ports) {
    const source = family === 'IPv4' ? '10.244.0.20' : 'fd00:1::20'
    const endpoint = family === 'IPv4' ? '10.244.0.6' : 'fd00:1::6'
    conntrack.insert({
      original: { source, sourcePort: 40_000, destination: clusterIP, destinationPort: 53, protocol: 17 },
      reply: { source: endpoint, sourcePort: 53, destination: source, destinationPort: 40_000, protocol: 17 },
      timeoutSeconds: 30,
    })
  }
  expect(endStaleFlows(conntrack, ports)).toBe(30)
})
