import { describe, expect, it } from 'vitest'
import type { EndpointSubset, Endpoints } from '../../generated/core-v1.ts'
import { endpointsKind } from './endpoints.ts'

const endpoints = (...subsets: EndpointSubset[]): Endpoints => ({
  metadata: { name: 'web', creationTimestamp: '2026-01-01T00:00:00Z' },
  subsets,
})
const addresses = [{ ip: '10.0.0.1' }]
const errorsOf = (...subsets: EndpointSubset[]) =>
  endpointsKind.validate!(endpoints(...subsets)).map((error) => `${error.field}: ${error.message}`)

it('ports are TCP by default', () => {
  const draft = endpoints({ ports: [{ port: 80 }, { port: 53, protocol: 'UDP' }] }, {})
  endpointsKind.defaults!(draft)
  expect(draft.subsets![0]!.ports!.map((port) => port.protocol)).toEqual(['TCP', 'UDP'])
})

describe('validation', () => {
  it.each<[string, EndpointSubset]>([
    ['no ports', { addresses }],
    ['only not ready', { notReadyAddresses: addresses }],
    ['one port without name', { addresses, ports: [{ port: 80, protocol: 'TCP' }] }],
    [
      'everything',
      {
        addresses: [{ ip: 'fd00::1', hostname: 'web-0', nodeName: 'node.a' }],
        ports: [{ name: 'a', port: 1, protocol: 'SCTP', appProtocol: 'http' }],
      },
    ],
  ])('accepts %s', (_, subset) => {
    expect(errorsOf(subset)).toEqual([])
  })

  it.each<[EndpointSubset, string[]]>([
    [{}, ['subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`']],
    [
      { addresses: [{ ip: 'x' }] },
      [
        'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
      ],
    ],
    [
      { addresses: [{ ip: '127.0.0.1' }] },
      [
        'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      ],
    ],
    [
      { addresses: [{ ip: '0.0.0.0' }] },
      ['subsets[0].addresses[0].ip: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)'],
    ],
    [
      { addresses: [{ ip: '169.254.169.254' }] },
      [
        'subsets[0].addresses[0].ip: Invalid value: "169.254.169.254": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
      ],
    ],
    [
      { notReadyAddresses: [{ ip: '224.0.0.1' }] },
      [
        'subsets[0].notReadyAddresses[0].ip: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
      ],
    ],
    [
      {
        addresses,
        ports: [
          { port: 80, protocol: 'TCP' },
          { name: 'b', port: 0, protocol: 'x' },
        ],
      },
      [
        'subsets[0].ports[0].name: Required value',
        'subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive',
        'subsets[0].ports[1].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"',
      ],
    ],
  ])('refuses %o', (subset, messages) => {
    expect(errorsOf(subset)).toEqual(messages)
  })

  it.each([
    ['hostname', 'A'],
    ['nodeName', '-'],
  ])('refuses a bad %s', (field, value) => {
    expect(errorsOf({ addresses: [{ ip: '10.0.0.1', [field]: value }] })[0]).toContain(
      `subsets[0].addresses[0].${field}: Invalid value: "${value}": a lowercase RFC 1123`,
    )
  })
})

it.each<[EndpointSubset[], string]>([
  [[], '<none>'],
  [[{ addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: [{ port: 80 }] }], '10.0.0.1:80,[fd00::1]:80'],
  [[{ addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] }], '10.0.0.1,10.0.0.2'],
  [
    [{ addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }], ports: [{ port: 80 }, { port: 81 }] }],
    '10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more...',
  ],
  [[{ notReadyAddresses: addresses, ports: [{ port: 80 }] }], ''],
  [
    Array.from({ length: 5 }, (_, i) => ({ addresses: [{ ip: `10.0.0.${i}` }], ports: [{ port: 80 }] })),
    '10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 2 more...',
  ],
])('%o is shown as %s', (subsets, expected) => {
  const cells = endpointsKind.columns.map((column) => column.value(endpoints(...subsets), Date.UTC(2026, 0, 2)))
  expect(cells).toEqual(['web', expected, '24h'])
})

it('warns that the kind is old, and of spellings, except of the controller', () => {
  const object = endpoints({ addresses: [{ ip: 'FD00::1' }] })
  const old = 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'
  const spelling =
    'subsets[0].addresses[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")'
  expect(endpointsKind.warnings!(object, undefined)).toEqual([old, spelling])
  object.metadata.labels = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }
  expect(endpointsKind.warnings!(object, undefined)).toEqual([old])
})
