import { describe, expect, it } from 'vitest'
import type { Endpoint, EndpointSlice } from '../../generated/discovery-v1.ts'
import { endpointSliceKind as kind } from './endpoint-slice.ts'

const slice = (fields: Partial<EndpointSlice> = {}): EndpointSlice => ({
  metadata: { name: 'web-abc', creationTimestamp: '2026-01-01T00:00:00Z' },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1'] }],
  ports: [{ name: '', port: 80, protocol: 'TCP' }],
  ...fields,
})
const endpoint = (fields: Partial<Endpoint>, addressType = 'IPv4') =>
  slice({ addressType, endpoints: [{ addresses: ['10.0.0.1'], ...fields }] })
const v6 = (...addresses: string[]) => endpoint({ addresses }, 'IPv6')
const fqdn = (...addresses: string[]) => endpoint({ addresses }, 'FQDN')
const many = <T>(count: number, item: (i: number) => T) => Array.from({ length: count }, (_, i) => item(i))
const errorsOf = (object: EndpointSlice) => kind.validate!(object).map((error) => `${error.field}: ${error.message}`)

it('ports have a name and a protocol by default', () => {
  const draft = slice({ ports: [{ port: 80 }] })
  kind.defaults!(draft)
  expect(draft.ports).toEqual([{ name: '', port: 80, protocol: 'TCP' }])
})

describe('validation', () => {
  it.each<[string, EndpointSlice]>([
    ['a plain one', slice()],
    ['no ports, no endpoints', slice({ ports: [], endpoints: [] })],
    ['IPv6', v6('fd00::1')],
    ['FQDN', fqdn('db.example.com', 'db.example.com.')],
    [
      'hints',
      endpoint({
        hints: { forZones: [{ name: 'a' }], forNodes: [{ name: 'n' }] },
        nodeName: 'n',
        hostname: 'web-0',
        zone: 'a',
      }),
    ],
    ['1000 endpoints', slice({ endpoints: many(1000, (i) => ({ addresses: [`10.0.${i >> 8}.${i & 255}`] })) })],
  ])('accepts %s', (_, object) => {
    expect(errorsOf(object)).toEqual([])
  })

  it.each<[string, EndpointSlice, string]>([
    ['no type', slice({ addressType: '' }), 'addressType: Required value'],
    [
      'unknown type',
      slice({ addressType: 'IP' }),
      'addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"',
    ],
    [
      'too many endpoints',
      slice({ endpoints: many(1001, () => ({ addresses: ['10.0.0.1'] })) }),
      'endpoints: Too many: 1001: must have at most 1000 items',
    ],
    [
      'too many ports',
      slice({ ports: many(20001, (i) => ({ name: `p${i}`, protocol: 'TCP' })) }),
      'ports: Too many: 20001: must have at most 20000 items',
    ],
    [
      'no address',
      endpoint({ addresses: [] }),
      'endpoints[0].addresses: Required value: must contain at least 1 address',
    ],
    [
      'too many addresses',
      endpoint({ addresses: many(101, (i) => `10.0.0.${i + 1}`) }),
      'endpoints[0].addresses: Too many: 101: must have at most 100 items',
    ],
    [
      'bad address',
      endpoint({ addresses: ['x'] }),
      'endpoints[0].addresses[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      'IPv6 in IPv4',
      endpoint({ addresses: ['fd00::1'] }),
      'endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address',
    ],
    ['IPv4 in IPv6', v6('10.0.0.1'), 'endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address'],
    [
      'uncanonical IPv6',
      v6('FD00::1'),
      'endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")',
    ],
    [
      'loopback',
      endpoint({ addresses: ['127.0.0.1'] }),
      'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
    [
      'one label',
      fqdn('db'),
      'endpoints[0].addresses[0]: Invalid value: "db": should be a domain with at least two segments separated by dots',
    ],
    ['empty name', fqdn(''), 'endpoints[0].addresses[0]: Required value'],
    ['bad name', fqdn('a_b.c'), 'endpoints[0].addresses[0]: Invalid value: "a_b.c": a lowercase RFC 1123 subdomain'],
    [
      'long label',
      fqdn(`${'a'.repeat(64)}.b`),
      `endpoints[0].addresses[0]: Invalid value: "${'a'.repeat(64)}": must be no more than 63 bytes`,
    ],
    [
      'bad node',
      endpoint({ nodeName: 'A' }),
      'endpoints[0].nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain',
    ],
    [
      'bad hostname',
      endpoint({ hostname: 'a.b' }),
      'endpoints[0].hostname: Invalid value: "a.b": must not contain dots',
    ],
    [
      'too many zones',
      endpoint({ hints: { forZones: many(9, (i) => ({ name: `z${i}` })) } }),
      'endpoints[0].hints.forZones: Too many: 9: must have at most 8 items',
    ],
    [
      'zone twice',
      endpoint({ hints: { forZones: [{ name: 'a' }, { name: 'a' }] } }),
      'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
    ],
    [
      'bad zone',
      endpoint({ hints: { forZones: [{ name: '-' }] } }),
      'endpoints[0].hints.forZones[0].name: Invalid value: "-": a valid label must be',
    ],
    [
      'node twice',
      endpoint({ hints: { forNodes: [{ name: 'a' }, { name: 'a' }] } }),
      'endpoints[0].hints.forNodes[1].name: Duplicate value: "a"',
    ],
    [
      'too many nodes',
      endpoint({ hints: { forNodes: many(9, (i) => ({ name: `z${i}` })) } }),
      'endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items',
    ],
    [
      'port name twice',
      slice({
        ports: [
          { name: 'a', protocol: 'TCP' },
          { name: 'a', protocol: 'UDP' },
        ],
      }),
      'ports[1].name: Duplicate value: "a"',
    ],
    [
      'bad port name',
      slice({ ports: [{ name: 'A', protocol: 'TCP' }] }),
      'ports[0].name: Invalid value: "A": a lowercase RFC 1123 label',
    ],
    [
      'empty protocol',
      slice({ ports: [{ name: 'a', protocol: '' }] }),
      'ports[0].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP"',
    ],
    [
      'bad app protocol',
      slice({ ports: [{ name: 'a', protocol: 'TCP', appProtocol: ' ' }] }),
      'ports[0].appProtocol: Invalid value: " ": name part must consist of',
    ],
  ])('refuses %s', (_, object, message) => {
    const errors = errorsOf(object)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain(message)
  })

  it('the type never changes', () => {
    expect(kind.validateUpdate!(slice(), slice())).toEqual([])
    expect(kind.validateUpdate!(slice({ addressType: 'IPv6', endpoints: [] }), slice())).toMatchObject([
      { field: 'addressType', message: 'Invalid value: "IPv6": field is immutable' },
    ])
  })
})

describe('generation', () => {
  it.each<[string, Partial<EndpointSlice>, number]>([
    ['nothing changed', {}, 3],
    ['annotations', { metadata: { annotations: { a: 'b' } } }, 3],
    ['labels', { metadata: { labels: { a: 'b' } } }, 4],
    ['endpoints', { endpoints: [] }, 4],
    ['ports', { ports: [] }, 4],
  ])('after %s', (_, fields, expected) => {
    const draft = slice(fields)
    kind.prepareUpdate!(draft, slice({ metadata: { generation: 3 } }))
    expect(draft.metadata.generation).toBe(expected)
  })

  it('begins with 1, without the old topology', () => {
    const draft = endpoint({ deprecatedTopology: { a: 'b' } })
    kind.prepareCreate!(draft)
    expect(draft).toEqual({ ...slice(), metadata: { ...slice().metadata, generation: 1 } })
  })
})

it.each<[EndpointSlice, unknown[]]>([
  [slice(), ['web-abc', 'IPv4', '80', '10.0.0.1', '1s']],
  [slice({ ports: [], endpoints: [] }), ['web-abc', 'IPv4', '<unset>', '<unset>', '1s']],
  [slice({ ports: [{ name: 'any' }, {}] }), ['web-abc', 'IPv4', 'any,*', '10.0.0.1', '1s']],
  [
    slice({ endpoints: many(5, (i) => ({ addresses: [`10.0.0.${i}`] })), ports: many(4, (i) => ({ port: i })) }),
    ['web-abc', 'IPv4', '0,1,2 + 1 more...', '10.0.0.0,10.0.0.1,10.0.0.2 + 2 more...', '1s'],
  ],
])('columns %#', (object, expected) => {
  expect(kind.columns.map((column) => column.value(object, Date.UTC(2026, 0, 1, 0, 0, 1)))).toEqual(expected)
})

it('warnings', () => {
  expect(kind.warnings!(fqdn('a.b'), undefined)).toEqual(['spec.addressType: FQDN endpoints are deprecated'])
  expect(kind.warnings!(fqdn('a.b'), fqdn('a.b'))).toEqual([])
  const spelled = v6('FD00::1')
  expect(kind.warnings!(spelled, undefined)).toHaveLength(1)
  spelled.metadata.labels = { 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' }
  expect(kind.warnings!(spelled, undefined)).toEqual([])
})
