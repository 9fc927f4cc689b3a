import { describe, expect, it } from 'vitest'
import type { Service, ServiceSpec } from '../../../generated/core-v1.ts'
import { serviceKind } from './kind.ts'

const service = (spec: ServiceSpec, status?: Service['status']): Service => ({
  metadata: { name: 'web', namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec,
  ...(status && { status }),
})

describe('defaults', () => {
  it.each<[string, ServiceSpec | undefined, ServiceSpec]>([
    ['nothing', undefined, { type: 'ClusterIP', sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' }],
    [
      'ports',
      {
        ports: [
          { port: 80 },
          { port: 53, protocol: 'UDP', targetPort: 'dns' },
          { port: 1, targetPort: 0, nodePort: 0, name: '' },
        ],
      },
      {
        type: 'ClusterIP',
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        ports: [
          { port: 80, protocol: 'TCP', targetPort: 80 },
          { port: 53, protocol: 'UDP', targetPort: 'dns' },
          { port: 1, protocol: 'TCP', targetPort: 1 },
        ],
      },
    ],
    [
      'NodePort',
      { type: 'NodePort' },
      { type: 'NodePort', sessionAffinity: 'None', internalTrafficPolicy: 'Cluster', externalTrafficPolicy: 'Cluster' },
    ],
    [
      'LoadBalancer',
      { type: 'LoadBalancer' },
      {
        type: 'LoadBalancer',
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        externalTrafficPolicy: 'Cluster',
        allocateLoadBalancerNodePorts: true,
      },
    ],
    [
      'external IPs',
      { externalIPs: ['192.0.2.1'] },
      {
        type: 'ClusterIP',
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        externalTrafficPolicy: 'Cluster',
        externalIPs: ['192.0.2.1'],
      },
    ],
    [
      'ExternalName',
      { type: 'ExternalName', externalName: 'a.b', internalTrafficPolicy: 'Cluster' },
      { type: 'ExternalName', externalName: 'a.b', sessionAffinity: 'None' },
    ],
    [
      'client affinity',
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: {} },
      {
        type: 'ClusterIP',
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } },
        internalTrafficPolicy: 'Cluster',
      },
    ],
    [
      'config without affinity',
      {
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
        clusterIP: '',
        clusterIPs: [],
        healthCheckNodePort: 0,
      },
      { type: 'ClusterIP', sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' },
    ],
  ])('%s', (_, spec, expected) => {
    const draft: Service = { metadata: {}, ...(spec && { spec }) }
    serviceKind.defaults!(draft)
    expect(draft.spec).toEqual(expected)
  })

  it('the mode of load balancer addresses', () => {
    const draft = service(
      { type: 'LoadBalancer' },
      { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'a' }] } },
    )
    serviceKind.defaults!(draft)
    expect(draft.status!.loadBalancer!.ingress).toEqual([{ ip: '192.0.2.1', ipMode: 'VIP' }, { hostname: 'a' }])
  })
})

describe('prepareCreate', () => {
  it('drops the status and links the addresses', () => {
    const draft = service({ clusterIP: '10.0.0.1' }, { loadBalancer: {} })
    serviceKind.prepareCreate!(draft)
    expect(draft).toEqual(service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] }))
  })
})

describe('prepareUpdate', () => {
  const ip = { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }
  const nodePort: ServiceSpec = {
    ...ip,
    type: 'NodePort',
    externalTrafficPolicy: 'Cluster',
    ports: [
      { name: 'a', port: 80, nodePort: 30000 },
      { name: 'b', port: 81, nodePort: 30001 },
    ],
  }
  const local: ServiceSpec = {
    ...ip,
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 31000,
    allocateLoadBalancerNodePorts: true,
    loadBalancerClass: 'x',
    ports: [{ port: 80, nodePort: 30000 }],
  }
  it.each<[string, ServiceSpec, ServiceSpec, ServiceSpec]>([
    [
      'keeps an address left out',
      { ...ip, type: 'ClusterIP' },
      { type: 'ClusterIP' },
      { type: 'ClusterIP', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] },
    ],
    [
      'lets clusterIPs follow clusterIP',
      { ...ip, type: 'ClusterIP' },
      { ...ip, type: 'ClusterIP', clusterIP: '10.0.0.2' },
      { ...ip, type: 'ClusterIP', clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] },
    ],
    [
      'keeps node ports by name',
      nodePort,
      {
        ...nodePort,
        ports: [
          { name: 'b', port: 9 },
          { name: 'c', port: 81 },
        ],
      },
      {
        ...nodePort,
        ports: [
          { name: 'b', port: 9, nodePort: 30001 },
          { name: 'c', port: 81 },
        ],
      },
    ],
    [
      'keeps no node port that another port took',
      nodePort,
      {
        ...nodePort,
        ports: [
          { name: 'a', port: 80 },
          { name: 'c', port: 81, nodePort: 30000 },
        ],
      },
      {
        ...nodePort,
        ports: [
          { name: 'a', port: 80 },
          { name: 'c', port: 81, nodePort: 30000 },
        ],
      },
    ],
    ['keeps the health check port', local, { ...local, healthCheckNodePort: 0 }, local],
    [
      'drops what only NodePort had',
      nodePort,
      { ...nodePort, type: 'ClusterIP' },
      {
        ...ip,
        type: 'ClusterIP',
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 81 },
        ],
      },
    ],
    [
      'keeps a node port that is new with the wrong type',
      nodePort,
      { ...nodePort, type: 'ClusterIP', ports: [{ port: 80, nodePort: 30009 }] },
      { ...ip, type: 'ClusterIP', ports: [{ port: 80, nodePort: 30009 }] },
    ],
    [
      'drops what only LoadBalancer had',
      local,
      { ...local, type: 'NodePort' },
      { ...ip, type: 'NodePort', externalTrafficPolicy: 'Local', ports: [{ port: 80, nodePort: 30000 }] },
    ],
    [
      'drops the health check port with Local',
      local,
      { ...local, externalTrafficPolicy: 'Cluster' },
      (({ healthCheckNodePort: _, ...rest }) => ({ ...rest, externalTrafficPolicy: 'Cluster' }))(local),
    ],
    [
      'drops addresses for ExternalName',
      { ...ip, type: 'ClusterIP' },
      { ...ip, type: 'ExternalName' },
      { type: 'ExternalName' },
    ],
    [
      'keeps a class changed with the type',
      local,
      { ...ip, type: 'ClusterIP', loadBalancerClass: 'y' },
      { ...ip, type: 'ClusterIP', loadBalancerClass: 'y' },
    ],
  ])('%s', (_, before, after, expected) => {
    const old = service(before)
    const draft = service(structuredClone(after))
    serviceKind.prepareUpdate!(draft, old)
    expect(draft.spec).toEqual(expected)
    expect(old).toEqual(service(before))
  })

  it('keeps the status, and clears it of addresses when the type changes', () => {
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } }
    const draft = service({ ...local }, { conditions: [] })
    serviceKind.prepareUpdate!(draft, service(local, status))
    expect(draft.status).toEqual(status)
    const other = service({ ...ip, type: 'ClusterIP' })
    serviceKind.prepareUpdate!(other, service(local, status))
    expect(other.status).toEqual({ loadBalancer: {} })
    expect(status.loadBalancer.ingress).toHaveLength(1)
  })
})

describe('columns', () => {
  const cells = (spec: ServiceSpec, status?: Service['status']) =>
    serviceKind.columns.map((column) => column.value(service(spec, status), Date.UTC(2026, 0, 1, 0, 5)))

  it('are named as kubectl shows them', () => {
    expect(serviceKind.columns.map(({ name, priority }) => `${name} ${priority}`)).toEqual([
      'Name 0',
      'Type 0',
      'Cluster-IP 0',
      'External-IP 0',
      'Port(s) 0',
      'Age 0',
      'Selector 1',
    ])
  })

  it.each<[ServiceSpec, Service['status'], unknown[]]>([
    [
      { type: 'ClusterIP', clusterIPs: ['10.0.0.1'], ports: [{ port: 443, protocol: 'TCP' }] },
      undefined,
      ['web', 'ClusterIP', '10.0.0.1', '<none>', '443/TCP', '5m', '<none>'],
    ],
    [
      {
        type: 'NodePort',
        clusterIPs: ['10.0.0.1'],
        externalIPs: ['192.0.2.1', '192.0.2.2'],
        selector: { b: '2', a: '1' },
        ports: [
          { port: 80, nodePort: 30080, protocol: 'TCP' },
          { port: 53, protocol: 'UDP' },
        ],
      },
      undefined,
      ['web', 'NodePort', '10.0.0.1', '192.0.2.1,192.0.2.2', '80:30080/TCP,53/UDP', '5m', 'a=1,b=2'],
    ],
    [
      { type: 'LoadBalancer', clusterIPs: ['10.0.0.1'] },
      undefined,
      ['web', 'LoadBalancer', '10.0.0.1', '<pending>', '<none>', '5m', '<none>'],
    ],
    [
      { type: 'LoadBalancer', clusterIPs: ['10.0.0.1'], externalIPs: ['192.0.2.9'] },
      { loadBalancer: { ingress: [{ ip: '198.51.100.2' }, { hostname: 'a.example.com' }, { ip: '198.51.100.1' }] } },
      [
        'web',
        'LoadBalancer',
        '10.0.0.1',
        '198.51.100.1,198.51.100.2,a.example.com,192.0.2.9',
        '<none>',
        '5m',
        '<none>',
      ],
    ],
    [
      { type: 'ExternalName', externalName: 'db.example.com' },
      undefined,
      ['web', 'ExternalName', '<none>', 'db.example.com', '<none>', '5m', '<none>'],
    ],
    [{}, undefined, ['web', '', '<none>', '<unknown>', '<none>', '5m', '<none>']],
  ])('%o', (spec, status, expected) => {
    expect(cells(spec, status)).toEqual(expected)
  })
})

describe('warnings', () => {
  it.each<[string, Partial<Service['metadata']>, ServiceSpec, string[]]>([
    ['nothing', {}, { type: 'ClusterIP', sessionAffinity: 'None' }, []],
    [
      'an old annotation',
      { annotations: { 'service.kubernetes.io/topology-aware-hints': 'auto' } },
      { type: 'ClusterIP' },
      [
        'annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead',
      ],
    ],
    [
      'what headless ignores',
      {},
      {
        type: 'ClusterIP',
        clusterIP: 'None',
        loadBalancerIP: '1.2.3.4',
        externalIPs: ['1.2.3.4'],
        sessionAffinity: 'ClientIP',
      },
      ['loadBalancerIP', 'externalIPs', 'SessionAffinity'].map(
        (field) => `spec.${field} is ignored for headless services`,
      ),
    ],
    [
      'external IPs',
      {},
      { type: 'ClusterIP', externalIPs: ['1.2.3.4'] },
      ['spec.externalIPs is deprecated and may no longer be implemented in some clusters'],
    ],
    [
      'external IPs of a name',
      {},
      { type: 'ExternalName', externalIPs: ['1.2.3.4'] },
      ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
    ],
    [
      'an unused name',
      {},
      { type: 'ClusterIP', externalName: 'a' },
      ['spec.externalName is ignored when spec.type is not "ExternalName"'],
    ],
    [
      'PreferClose',
      {},
      { type: 'ClusterIP', trafficDistribution: 'PreferClose' },
      ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
    ],
    [
      'spellings',
      {},
      {
        type: 'LoadBalancer',
        clusterIP: 'FD00::1',
        clusterIPs: ['FD00::1'],
        loadBalancerIP: '010.0.0.1',
        loadBalancerSourceRanges: ['10.0.0.1/8', '08.0.0.0/8', 'FD00::/8'],
      },
      [
        'spec.clusterIPs[0]: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")',
        'spec.loadBalancerIP: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
        'spec.loadBalancerSourceRanges[0]: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
        'spec.loadBalancerSourceRanges[1]: non-standard CIDR value "08.0.0.0/8" is invalid: use "8.0.0.0/8"',
        'spec.loadBalancerSourceRanges[2]: IPv6 CIDR value "FD00::/8" should be in RFC 5952 canonical format ("fd00::/8")',
      ],
    ],
  ])('%s', (_, metadata, spec, expected) => {
    expect(
      serviceKind.warnings!({ metadata: { ...metadata }, spec: { sessionAffinity: 'None', ...spec } }, undefined),
    ).toEqual(expected)
  })
})

it('can be selected by address and type', () => {
  const { selectableFields } = serviceKind
  expect(selectableFields['spec.clusterIP']!(service({ clusterIP: 'None' }))).toBe('None')
  expect(selectableFields['spec.type']!({ metadata: {} })).toBe('')
})
