import { describe, expect, it } from 'vitest'
import type { Node, Pod, Service } from '../../api/generated/core-v1.ts'
import { addressTypesOf, podEndpoint } from './pod-endpoint.ts'

const service = (spec: Service['spec'] = {}): Service => ({ metadata: { name: 'web', namespace: 'n' }, spec })
const pod = (...ips: string[]): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [], nodeName: 'node' },
  status: {
    phase: 'Running',
    podIP: ips[0]!,
    podIPs: ips.map((ip) => ({ ip })),
    conditions: [{ type: 'Ready', status: 'True' }],
  },
})
const node: Node = { metadata: { name: 'node' } }

describe('address families of a Service', () => {
  it.each<[string, Service['spec'], string[]]>([
    ['as it says', { ipFamilies: ['IPv6', 'IPv4'] }, ['IPv6', 'IPv4']],
    ['of its address', { clusterIP: 'fd00::1' }, ['IPv6']],
    ['of its address', { clusterIP: '10.0.0.1' }, ['IPv4']],
    ['both if headless and silent', { clusterIP: 'None' }, ['IPv4', 'IPv6']],
  ])('%s', (_, spec, expected) => expect(addressTypesOf(service(spec))).toEqual(expected))
})

describe('addresses of a pod', () => {
  it.each<[string, string[], 'IPv4' | 'IPv6', string[] | undefined]>([
    ['dual stack, IPv4', ['10.0.0.1', 'fd00::1'], 'IPv4', ['10.0.0.1']],
    ['dual stack, IPv6', ['10.0.0.1', 'fd00::1'], 'IPv6', ['fd00::1']],
    ['none of the family', ['10.0.0.1'], 'IPv6', undefined],
  ])('%s', (_, ips, family, expected) =>
    expect(podEndpoint(service(), pod(...ips), node, family)?.addresses).toEqual(expected),
  )
})
