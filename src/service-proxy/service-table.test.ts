import { describe, expect, test } from 'vitest'
import type { Service } from '../api/generated/core-v1.ts'
import type { Endpoint, EndpointSlice } from '../api/generated/discovery-v1.ts'
import { externalTarget, internalTarget, type ServicePort } from './service-port.ts'
import { ServiceTable } from './service-table.ts'

const ZONE = 'topology.kubernetes.io/zone'

const service = (spec: Service['spec'] = {}, more: Partial<Service> & { name?: string } = {}): Service => ({
  metadata: { namespace: 'default', name: more.name ?? 'web', ...more.metadata },
  spec: { type: 'ClusterIP', clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'], ports: [{ port: 80 }], ...spec },
  ...(more.status && { status: more.status }),
})

const slice = (
  endpoints: Endpoint[],
  more: Partial<EndpointSlice> & { name?: string; of?: string } = {},
): EndpointSlice => ({
  metadata: {
    namespace: 'default',
    name: more.name ?? 'web-1',
    labels: { 'kubernetes.io/service-name': more.of ?? 'web' },
    ...more.metadata,
  },
  addressType: more.addressType ?? 'IPv4',
  ports: more.ports ?? [{ name: '', port: 8080, protocol: 'TCP' }],
  endpoints,
})

/** `10.0.0.1 here zone-a terminating` */
function endpoint(text: string): Endpoint {
  const [address, nodeName, ...words] = text.split(' ') as [string, string, ...string[]]
  const isTerminating = words.includes('terminating') || words.includes('dead')
  const isServing = !words.includes('unready') && !words.includes('dead')
  const zones = words.filter((word) => word.startsWith('zone-')).map((name) => ({ name }))
  const nodes = words.filter((word) => word.startsWith('for-')).map((word) => ({ name: word.slice(4) }))
  return {
    addresses: [address],
    nodeName,
    conditions: { ready: isServing && !isTerminating, serving: isServing, terminating: isTerminating },
    ...((zones.length > 0 || nodes.length > 0) && { hints: { forZones: zones, forNodes: nodes } }),
  }
}

function tableOf(services: Service[], slices: EndpointSlice[], labels: Record<string, string> = {}): ServiceTable {
  const table = new ServiceTable({ name: 'here', labels })
  for (const one of services) table.serviceChanged(undefined, one)
  for (const one of slices) table.endpointSliceChanged(undefined, one)
  table.update()
  return table
}

const only = (table: ServiceTable): ServicePort => {
  const ports = [...table.ports()]
  expect(ports).toHaveLength(1)
  return ports[0]!
}

const ips = (endpoints: readonly { ip: string }[]) => endpoints.map(({ ip }) => ip.split('.').at(-1)).join(' ')

const CLUSTER: Service['spec'] = {}
const INTERNAL_LOCAL: Service['spec'] = { internalTrafficPolicy: 'Local' }
const EXTERNAL_LOCAL: Service['spec'] = {
  type: 'NodePort',
  externalTrafficPolicy: 'Local',
  ports: [{ port: 80, nodePort: 30080 }],
}
const BOTH_LOCAL: Service['spec'] = { ...EXTERNAL_LOCAL, internalTrafficPolicy: 'Local' }

/** Which endpoints: policy, zone of the node, endpoints -> for a Cluster policy, for a Local policy, any at all. */
const SELECTION: [string, Service['spec'], string | undefined, string[], string, string, boolean][] = [
  ['none', CLUSTER, undefined, [], '', '', false],
  ['all ready', CLUSTER, undefined, ['10.0.0.1 here', '10.0.0.2 there'], '1 2', '', true],
  ['not ready', CLUSTER, undefined, ['10.0.0.1 here unready', '10.0.0.2 there'], '2', '', true],
  ['none ready', CLUSTER, undefined, ['10.0.0.1 here unready'], '', '', false],
  ['zone hints', CLUSTER, 'zone-a', ['10.0.0.1 here zone-a', '10.0.0.2 there zone-b'], '1', '', true],
  ['hints for two zones', CLUSTER, 'zone-b', ['10.0.0.1 here zone-a', '10.0.0.2 there zone-b zone-a'], '2', '', true],
  [
    'zone hints, node without zone',
    CLUSTER,
    undefined,
    ['10.0.0.1 here zone-a', '10.0.0.2 there zone-b'],
    '1 2',
    '',
    true,
  ],
  ['a hint is missing', CLUSTER, 'zone-a', ['10.0.0.1 here zone-a', '10.0.0.2 there'], '1 2', '', true],
  [
    'a hint of an unready one is missing',
    CLUSTER,
    'zone-a',
    ['10.0.0.1 here zone-a', '10.0.0.2 there zone-b', '10.0.0.3 there unready'],
    '1',
    '',
    true,
  ],
  ['no hint for this zone', CLUSTER, 'zone-c', ['10.0.0.1 here zone-a', '10.0.0.2 there zone-b'], '1 2', '', true],
  [
    'only an unready one for this zone',
    CLUSTER,
    'zone-a',
    ['10.0.0.1 here zone-a unready', '10.0.0.2 there zone-b'],
    '2',
    '',
    true,
  ],
  [
    'node hints',
    CLUSTER,
    'zone-a',
    ['10.0.0.1 here zone-a for-here', '10.0.0.2 there zone-a for-there'],
    '1',
    '',
    true,
  ],
  [
    'node hints, another node',
    CLUSTER,
    'zone-a',
    ['10.0.0.1 there zone-a for-there', '10.0.0.2 else zone-b for-else'],
    '1',
    '',
    true,
  ],
  [
    'node hints, another node and zone',
    CLUSTER,
    'zone-c',
    ['10.0.0.1 there zone-a for-there', '10.0.0.2 else zone-b for-else'],
    '1 2',
    '',
    true,
  ],
  [
    'a node hint is missing',
    CLUSTER,
    'zone-a',
    ['10.0.0.1 here zone-a for-here', '10.0.0.2 there zone-a'],
    '1 2',
    '',
    true,
  ],
  [
    'terminating while others are ready',
    CLUSTER,
    undefined,
    ['10.0.0.1 here terminating', '10.0.0.2 there'],
    '2',
    '',
    true,
  ],
  [
    'only terminating',
    CLUSTER,
    undefined,
    ['10.0.0.1 here terminating', '10.0.0.2 there terminating'],
    '1 2',
    '',
    true,
  ],
  ['terminating and dead', CLUSTER, undefined, ['10.0.0.1 here terminating', '10.0.0.2 there dead'], '1', '', true],
  ['only dead', CLUSTER, undefined, ['10.0.0.1 here dead'], '', '', false],
  [
    'terminating ones ignore hints',
    CLUSTER,
    'zone-a',
    ['10.0.0.1 here zone-a terminating', '10.0.0.2 there zone-b terminating'],
    '1 2',
    '',
    true,
  ],
  ['internal Local', INTERNAL_LOCAL, undefined, ['10.0.0.1 here', '10.0.0.2 there'], '', '1', true],
  ['internal Local, none here', INTERNAL_LOCAL, undefined, ['10.0.0.2 there'], '', '', true],
  [
    'internal Local, unready here',
    INTERNAL_LOCAL,
    undefined,
    ['10.0.0.1 here unready', '10.0.0.2 there'],
    '',
    '',
    true,
  ],
  [
    'internal Local, terminating here',
    INTERNAL_LOCAL,
    undefined,
    ['10.0.0.1 here terminating', '10.0.0.2 there'],
    '',
    '1',
    true,
  ],
  [
    'internal Local, ready and terminating here',
    INTERNAL_LOCAL,
    undefined,
    ['10.0.0.1 here terminating', '10.0.0.3 here'],
    '',
    '3',
    true,
  ],
  ['internal Local, terminating elsewhere', INTERNAL_LOCAL, undefined, ['10.0.0.2 there terminating'], '', '', true],
  ['internal Local, dead elsewhere', INTERNAL_LOCAL, undefined, ['10.0.0.2 there dead'], '', '', false],
  [
    'internal Local ignores hints',
    INTERNAL_LOCAL,
    'zone-b',
    ['10.0.0.1 here zone-a', '10.0.0.2 there zone-b'],
    '',
    '1',
    true,
  ],
  ['external Local', EXTERNAL_LOCAL, undefined, ['10.0.0.1 here', '10.0.0.2 there'], '1 2', '1', true],
  ['external Local, none here', EXTERNAL_LOCAL, undefined, ['10.0.0.2 there'], '2', '', true],
  [
    'external Local, terminating here',
    EXTERNAL_LOCAL,
    undefined,
    ['10.0.0.1 here terminating', '10.0.0.2 there'],
    '2',
    '1',
    true,
  ],
  [
    'external Local with hints',
    EXTERNAL_LOCAL,
    'zone-b',
    ['10.0.0.1 here zone-a', '10.0.0.2 there zone-b'],
    '2',
    '1',
    true,
  ],
  [
    'external Local, all terminating',
    EXTERNAL_LOCAL,
    undefined,
    ['10.0.0.1 here terminating', '10.0.0.2 there terminating'],
    '1 2',
    '1',
    true,
  ],
  [
    'external Local on a Service that nobody outside reaches',
    { externalTrafficPolicy: 'Local' },
    undefined,
    ['10.0.0.1 here', '10.0.0.2 there'],
    '1 2',
    '',
    true,
  ],
  ['both Local', BOTH_LOCAL, undefined, ['10.0.0.1 here', '10.0.0.2 there'], '1 2', '1', true],
]

describe('selection of endpoints', () => {
  test.each(SELECTION)('%s', (_, spec, zone, endpoints, cluster, local, hasEndpoints) => {
    const port = only(tableOf([service(spec)], [slice(endpoints.map(endpoint))], zone ? { [ZONE]: zone } : {}))
    expect([ips(port.clusterEndpoints), ips(port.localEndpoints), port.hasEndpoints]).toEqual([
      cluster,
      local,
      hasEndpoints,
    ])
  })

  test('there are as many cases as it takes', () => expect(SELECTION.length).toBeGreaterThanOrEqual(32))

  test.each<[string, Service['spec'], string[], string, string]>([
    ['endpoints here', BOTH_LOCAL, ['10.0.0.1 here'], 'balance', 'balance'],
    ['endpoints elsewhere', BOTH_LOCAL, ['10.0.0.1 there'], 'drop', 'drop'],
    ['no endpoints', BOTH_LOCAL, [], 'reject', 'reject'],
    ['Cluster policies', CLUSTER, ['10.0.0.1 there'], 'balance', 'balance'],
  ])('%s', (_, spec, endpoints, internal, external) => {
    const port = only(tableOf([service(spec)], [slice(endpoints.map(endpoint))]))
    expect([internalTarget(port), externalTarget(port)]).toEqual([internal, external])
  })

  test('conditions that are not given mean ready', () => {
    const port = only(
      tableOf([service()], [slice([{ addresses: ['10.0.0.1'], conditions: {} }, { addresses: ['10.0.0.2'] }])]),
    )
    expect(ips(port.clusterEndpoints)).toBe('1 2')
  })

  test('a change of the zone of the node changes the choice', () => {
    const endpoints = [endpoint('10.0.0.1 here zone-a'), endpoint('10.0.0.2 there zone-b')]
    const table = tableOf([service()], [slice(endpoints)], { [ZONE]: 'zone-a' })
    expect(ips(only(table).clusterEndpoints)).toBe('1')
    table.setNode({ labels: { [ZONE]: 'zone-b' } })
    expect([...table.update()]).toEqual(['default/web/TCP/IPv4'])
    expect(ips(only(table).clusterEndpoints)).toBe('2')
  })
})

const labelled = (label: string, value: string) => ({
  metadata: { namespace: 'default', name: 'web', labels: { 'kubernetes.io/service-name': 'web', [label]: value } },
})

describe('which Services', () => {
  test.each(['service.kubernetes.io/service-proxy-name', 'service.kubernetes.io/headless'])(
    'a slice counts until it gets the label %s',
    (label) => {
      const one = slice([endpoint('10.0.0.1 here')], labelled('team', 'red'))
      const other = slice([endpoint('10.0.0.1 here')], labelled(label, ''))
      const table = tableOf([service()], [one])
      expect(only(table).hasEndpoints).toBe(true)
      table.endpointSliceChanged(one, other)
      expect([...table.update()]).toEqual(['default/web/TCP/IPv4'])
      expect(only(table).hasEndpoints).toBe(false)
    },
  )

  test.each<[string, Service]>([
    ['headless', service({ clusterIP: 'None', clusterIPs: ['None'] })],
    ['ExternalName', service({ type: 'ExternalName', externalName: 'example.com', clusterIP: '', clusterIPs: [] })],
    ['without an address yet', service({ clusterIP: '', clusterIPs: [] })],
    ["another proxy's", service({}, labelled('service.kubernetes.io/service-proxy-name', 'mine'))],
    ['labelled as headless', service({}, labelled('service.kubernetes.io/headless', ''))],
  ])('%s is not proxied', (_, one) => {
    expect(tableOf([one], [slice([endpoint('10.0.0.1 here')])]).size).toBe(0)
  })

  test('becoming headless takes it away', () => {
    const table = tableOf([service()], [])
    table.serviceChanged(service(), service({ clusterIP: 'None', clusterIPs: ['None'] }))
    expect([...table.update()]).toEqual(['default/web/TCP/IPv4'])
    expect(table.size).toBe(0)
  })

  test('slices without the name of a Service do not count', () => {
    const stray = slice([endpoint('10.0.0.1 here')], { metadata: { namespace: 'default', name: 'stray', labels: {} } })
    expect(only(tableOf([service()], [stray])).hasEndpoints).toBe(false)
  })

  test('dual stack: one port for each family, with the endpoints of its own', () => {
    const table = tableOf(
      [service({ clusterIPs: ['10.96.0.1', 'fd00::1'] })],
      [
        slice([endpoint('10.0.0.1 here')]),
        slice([endpoint('fd00:1::5 here')], { name: 'web-2', addressType: 'IPv6' }),
        slice([endpoint('example.com here')], { name: 'web-3', addressType: 'FQDN' }),
      ],
    )
    expect([...table.ports()].map(({ key, clusterEndpoints }) => [key, clusterEndpoints.map(({ ip }) => ip)])).toEqual([
      ['default/web/TCP/IPv4', ['10.0.0.1']],
      ['default/web/TCP/IPv6', ['fd00:1::5']],
    ])
  })

  test('addresses with leading zeros are understood, others left out', () => {
    const port = only(
      tableOf(
        [service({ externalIPs: ['010.1.1.1', 'nonsense', '1.2.3'], loadBalancerSourceRanges: [' 10.0.0.0/8 ', 'x'] })],
        [slice([endpoint('010.0.0.1 here'), endpoint('nonsense here'), endpoint('fd00::1 here')])],
      ),
    )
    expect(port.externalIPs).toEqual(['10.1.1.1'])
    expect(port.sourceRanges).toEqual(['10.0.0.0/8'])
    expect(port.clusterEndpoints.map(({ ip }) => ip)).toEqual(['10.0.0.1'])
  })

  test.each<[string | undefined, string[]]>([
    [undefined, ['172.16.0.1']],
    ['VIP', ['172.16.0.1']],
    ['Proxy', []],
  ])('load-balancer addresses with ipMode %s: %j', (ipMode, expected) => {
    const ingress = [{ ip: '172.16.0.1', ...(ipMode && { ipMode }) }, { hostname: 'lb.example.com' }]
    const port = only(tableOf([service({ type: 'LoadBalancer' }, { status: { loadBalancer: { ingress } } })], []))
    expect(port.loadBalancerIPs).toEqual(expected)
  })

  test.each<[Service['spec'], number | undefined]>([
    [{}, undefined],
    [{ sessionAffinity: 'None' }, undefined],
    [{ sessionAffinity: 'ClientIP' }, 10_800],
    [{ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }, 5],
  ])('affinity of %j is %s', (spec, seconds) => {
    expect(only(tableOf([service(spec)], [])).affinitySeconds).toBe(seconds)
  })

  test('named ports find theirs by name and protocol', () => {
    const table = tableOf(
      [
        service({
          ports: [
            { name: 'dns', port: 53, protocol: 'UDP' },
            { name: 'dns-tcp', port: 53 },
          ],
        }),
      ],
      [
        slice([endpoint('10.0.0.1 here')], {
          ports: [
            { name: 'dns', port: 5353, protocol: 'UDP' },
            { name: 'dns-tcp', port: 5354, protocol: 'TCP' },
            { name: 'dns', port: 5355, protocol: 'TCP' },
            { name: 'dns', protocol: 'UDP' },
          ],
        }),
      ],
    )
    expect(
      [...table.ports()].map(({ name, clusterEndpoints }) => `${name} ${clusterEndpoints.map(({ id }) => id)}`),
    ).toEqual(['default/web:dns 10.0.0.1 5353', 'default/web:dns-tcp 10.0.0.1 5354'])
  })

  test('the same target in two slices is one endpoint, local if either says so', () => {
    const port = only(
      tableOf(
        [service()],
        [
          slice([endpoint('10.0.0.1 there')]),
          slice([endpoint('10.0.0.1 here'), endpoint('10.0.0.2 there')], { name: 'web-2' }),
        ],
      ),
    )
    expect(port.clusterEndpoints.map(({ ip, isLocal }) => `${ip} ${isLocal}`)).toEqual([
      '10.0.0.1 true',
      '10.0.0.2 false',
    ])
  })
})

describe('changes', () => {
  const key = 'default/web/TCP/IPv4'

  test('only what is different is told', () => {
    const table = tableOf(
      [service(), service({ clusterIP: '10.96.0.2', clusterIPs: ['10.96.0.2'] }, { name: 'other' })],
      [],
    )
    expect([...table.update()]).toEqual([])
    const first = slice([endpoint('10.0.0.1 here')])
    table.endpointSliceChanged(undefined, first)
    expect([...table.update()]).toEqual([key])
    table.endpointSliceChanged(first, slice([endpoint('10.0.0.1 here')]))
    expect([...table.update()]).toEqual([])
    table.endpointSliceChanged(first, slice([endpoint('10.0.0.1 here'), endpoint('10.0.0.2 there unready')]))
    expect([...table.update()]).toEqual([])
    table.serviceChanged(
      service(),
      service({}, { metadata: { namespace: 'default', name: 'web', labels: { a: 'b' } } }),
    )
    expect([...table.update()]).toEqual([])
    table.serviceChanged(service(), service({ sessionAffinity: 'ClientIP' }))
    expect([...table.update()]).toEqual([key])
  })

  test('endpoints may come before their Service', () => {
    const table = tableOf([], [slice([endpoint('10.0.0.1 here')])])
    expect(table.size).toBe(0)
    table.serviceChanged(undefined, service())
    expect([...table.update()]).toEqual([key])
    expect(ips(only(table).clusterEndpoints)).toBe('1')
  })

  test('a deleted slice takes its endpoints along, a relabelled one takes them to the other', () => {
    const other = service({ clusterIP: '10.96.0.2', clusterIPs: ['10.96.0.2'] }, { name: 'other' })
    const mine = slice([endpoint('10.0.0.1 here')])
    const theirs = slice([endpoint('10.0.0.1 here')], { of: 'other' })
    const table = tableOf([service(), other], [mine])
    table.endpointSliceChanged(mine, theirs)
    expect([...table.update()].sort()).toEqual(['default/other/TCP/IPv4', key])
    expect(table.get(key)!.hasEndpoints).toBe(false)
    expect(table.get('default/other/TCP/IPv4')!.hasEndpoints).toBe(true)
    table.endpointSliceChanged(theirs, undefined)
    expect([...table.update()]).toEqual(['default/other/TCP/IPv4'])
  })

  test('a removed port and a removed Service are told', () => {
    const two = service({
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 81 },
      ],
    })
    const one = service({ ports: [{ name: 'a', port: 80 }] })
    const table = tableOf([two], [])
    table.serviceChanged(two, one)
    expect([...table.update()]).toEqual(['default/web:b/TCP/IPv4'])
    table.serviceChanged(one, undefined)
    expect([...table.update()]).toEqual(['default/web:a/TCP/IPv4'])
    expect(table.size).toBe(0)
  })

  test('an external IP that two want goes to the older one, and over when that is gone', () => {
    const at = (name: string, creationTimestamp: string, ip: string) =>
      service(
        { clusterIP: ip, clusterIPs: [ip], externalIPs: ['172.16.0.1'] },
        { metadata: { namespace: 'default', name, creationTimestamp } },
      )
    const young = at('young', '2026-01-02T00:00:00Z', '10.96.0.3')
    const old = at('old', '2026-01-01T00:00:00Z', '10.96.0.2')
    const table = tableOf([young], [])
    expect(table.get('default/young/TCP/IPv4')!.externalIPs).toEqual(['172.16.0.1'])
    table.serviceChanged(undefined, old)
    expect([...table.update()].sort()).toEqual(['default/old/TCP/IPv4', 'default/young/TCP/IPv4'])
    expect(table.get('default/young/TCP/IPv4')!.externalIPs).toEqual([])
    expect(table.get('default/old/TCP/IPv4')!.externalIPs).toEqual(['172.16.0.1'])
    table.serviceChanged(old, undefined)
    table.update()
    expect(table.get('default/young/TCP/IPv4')!.externalIPs).toEqual(['172.16.0.1'])
  })

  test("nobody takes another's cluster IP by an external IP", () => {
    const thief = service(
      { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'], externalIPs: ['10.96.0.1'] },
      { metadata: { namespace: 'default', name: 'thief', creationTimestamp: '2020-01-01T00:00:00Z' } },
    )
    const table = tableOf([thief, service()], [])
    expect(table.get(key)!.clusterIP).toBe('10.96.0.1')
    expect(table.get('default/thief/TCP/IPv4')!.externalIPs).toEqual([])
  })
})

describe('health checks and counts', () => {
  const local: Service['spec'] = {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 32000,
    ports: [{ port: 80, nodePort: 30080 }],
  }

  test.each<[string[], number]>([
    [['10.0.0.1 here', '10.0.0.2 here', '10.0.0.3 there'], 2],
    [['10.0.0.1 here terminating'], 0],
    [['10.0.0.1 here unready', '10.0.0.2 there'], 0],
  ])('%j: %i local endpoints', (endpoints, localEndpoints) => {
    const table = tableOf([service(local)], [slice(endpoints.map(endpoint))])
    expect([...table.healthChecks()]).toEqual([{ service: 'default/web', port: 32000, localEndpoints }])
  })

  test('the health check goes with its Service', () => {
    const table = tableOf([service(local)], [])
    table.serviceChanged(service(local), service())
    table.update()
    expect([...table.healthChecks()]).toEqual([])
  })

  test('ports without local endpoints are counted by policy', () => {
    const table = tableOf(
      [service({ ...local, internalTrafficPolicy: 'Local' })],
      [slice([endpoint('10.0.0.1 there')])],
    )
    expect(table.noLocalEndpoints).toEqual({ internal: 1, external: 1 })
    table.endpointSliceChanged(slice([]), slice([endpoint('10.0.0.1 here')]))
    table.update()
    expect(table.noLocalEndpoints).toEqual({ internal: 0, external: 0 })
  })

  test('all serving endpoints of UDP ports are known, chosen or not', () => {
    const udp = service({ ports: [{ port: 53, protocol: 'UDP' }] })
    const endpoints = ['10.0.0.1 here', '10.0.0.2 there terminating', '10.0.0.3 there dead'].map(endpoint)
    const port = only(tableOf([udp], [slice(endpoints, { ports: [{ name: '', port: 53, protocol: 'UDP' }] })]))
    expect([ips(port.clusterEndpoints), ips(port.servingEndpoints)]).toEqual(['1', '1 2'])
  })
})
