import { describe, expect, it } from 'vitest'
import { serviceKind } from './kind.ts'
import {
  affinity,
  balanced,
  dual,
  exposed,
  external,
  type Fields,
  headless,
  ip,
  local,
  ports,
  service,
  shown,
} from './service-fixture.ts'

describe('accepted', () => {
  it.each<[string, Fields]>([
    ['a plain one', {}],
    ['headless', headless],
    ['headless without ports', { ...headless, ports: undefined }],
    ['ExternalName', external],
    ['ExternalName with a trailing dot', { ...external, externalName: 'a.b.' }],
    ['LoadBalancer', balanced],
    ['LoadBalancer with class', { ...balanced, loadBalancerClass: 'example.com/lb' }],
    ['source ranges with spaces', { ...balanced, loadBalancerSourceRanges: [' 10.0.0.0/8 ', 'fd00::/8'] }],
    ['local load balancer', local],
    ['NodePort', { type: 'NodePort', externalTrafficPolicy: 'Local' }],
    ['client affinity', affinity({ clientIP: { timeoutSeconds: 86400 } })],
    ['external IPs', exposed('192.0.2.1')],
    ['dual stack', dual],
    ['one number, two protocols', ports({ name: 'a' }, { name: 'b', protocol: 'UDP' })],
    ['SCTP and a named target', ports({ protocol: 'SCTP', targetPort: 'sctp-in', appProtocol: 'example.com/x' })],
    ['traffic distribution', { trafficDistribution: 'PreferSameNode' }],
  ])('%s', (_, fields) => {
    expect(serviceKind.validate!(service(fields))).toEqual([])
  })
})

describe('refused', () => {
  it.each<[string, Fields, string]>([
    [
      'unknown type',
      { type: 'Other', internalTrafficPolicy: undefined },
      'spec.type: Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
    ['no type', { type: undefined, internalTrafficPolicy: undefined }, 'spec.type: Required value'],
    [
      'headless NodePort',
      { ...headless, type: 'NodePort', externalTrafficPolicy: 'Local' },
      `spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`,
    ],
    [
      'headless LoadBalancer',
      { ...headless, ...balanced },
      `spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for LoadBalancer services`,
    ],
    ['ExternalName without name', { ...external, externalName: undefined }, 'spec.externalName: Required value'],
    [
      'ExternalName with a bad name',
      { ...external, externalName: '-a' },
      'spec.externalName: Invalid value: "-a": a lowercase RFC 1123 subdomain must',
    ],
    [
      'ExternalName with address',
      { ...external, clusterIPs: ['10.0.0.1'] },
      'spec.clusterIPs: Forbidden: may not be set for ExternalName services',
    ],
    [
      'ExternalName with families',
      { ...external, ipFamilies: ['IPv4'] },
      'spec.ipFamilies: Forbidden: may not be set for ExternalName services',
    ],
    [
      'ExternalName with policy',
      { ...external, ipFamilyPolicy: 'SingleStack' },
      'spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services',
    ],
    ['no ports', { ports: undefined }, 'spec.ports: Required value'],
    ['two ports, one without name', ports({}, { name: undefined, port: 81 }), 'spec.ports[1].name: Required value'],
    ['two ports of one name', ports({}, { port: 81 }), 'spec.ports[1].name: Duplicate value: "http"'],
    ['bad port name', ports({ name: 'a.b' }), 'spec.ports[0].name: Invalid value: "a.b": must not contain dots'],
    ['port 0', ports({ port: 0 }), 'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive'],
    [
      'unknown protocol',
      ports({ protocol: 'tcp' }),
      'spec.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
    ],
    ['no protocol', ports({ protocol: undefined }), 'spec.ports[0].protocol: Required value'],
    [
      'target port too large',
      ports({ targetPort: 65536 }),
      'spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive',
    ],
    [
      'bad target port name',
      ports({ targetPort: '123' }),
      'spec.ports[0].targetPort: Invalid value: "123": must contain at least one letter (a-z)',
    ],
    [
      'bad app protocol',
      ports({ appProtocol: 'a b' }),
      'spec.ports[0].appProtocol: Invalid value: "a b": name part must consist of',
    ],
    [
      'same port and protocol',
      ports({ name: 'a' }, { name: 'b' }),
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
    ],
    [
      'same node port',
      { ...balanced, ...ports({ name: 'a', nodePort: 30000 }, { name: 'b', port: 81, nodePort: 30000 }) },
      'spec.ports[1].nodePort: Duplicate value: 30000',
    ],
    [
      'node port of ClusterIP',
      ports({ nodePort: 30000 }),
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
    ['bad selector', { selector: { 'a b': 'c' } }, 'spec.selector: Invalid value: "a b": name part must consist of'],
    ['no affinity', { sessionAffinity: undefined }, 'spec.sessionAffinity: Required value'],
    [
      'unknown affinity',
      { sessionAffinity: 'Cookie' },
      'spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"',
    ],
    [
      'config without affinity',
      { sessionAffinityConfig: {} },
      'spec.sessionAffinityConfig: Forbidden: must not be set when session affinity is None',
    ],
    [
      'affinity without config',
      affinity(),
      'spec.sessionAffinityConfig: Required value: when session affinity type is ClientIP',
    ],
    [
      'affinity without clientIP',
      affinity({}),
      'spec.sessionAffinityConfig.clientIP: Required value: when session affinity type is ClientIP',
    ],
    [
      'affinity without time',
      affinity({ clientIP: {} }),
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Required value: when session affinity type is ClientIP',
    ],
    [
      'affinity of 0 seconds',
      affinity({ clientIP: { timeoutSeconds: 0 } }),
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400',
    ],
    [
      'affinity of 2 days',
      affinity({ clientIP: { timeoutSeconds: 172800 } }),
      'must be greater than 0 and less than 86400',
    ],
    ['clusterIP without clusterIPs', { clusterIPs: undefined }, 'spec.clusterIPs: Required value'],
    [
      'clusterIPs without clusterIP',
      { clusterIP: undefined },
      'spec.clusterIPs: Invalid value: ["10.96.0.1"]: must be empty when `clusterIP` is not specified',
    ],
    [
      'different first address',
      { clusterIPs: ['10.96.0.2'] },
      'spec.clusterIPs: Invalid value: ["10.96.0.2"]: first value must match `clusterIP`',
    ],
    [
      'unknown family',
      { ipFamilies: ['IPX'] },
      'spec.ipFamilies[0]: Unsupported value: "IPX": supported values: "IPv4", "IPv6"',
    ],
    ['one family twice', { ipFamilies: ['IPv4', 'IPv4'] }, 'spec.ipFamilies[1]: Duplicate value: "IPv4"'],
    [
      'unknown family policy',
      { ipFamilyPolicy: 'Any' },
      'spec.ipFamilyPolicy: Unsupported value: "Any": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
    ],
    [
      'no address',
      ip('x'),
      'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    ['leading zeros', ip('010.0.0.1'), 'spec.clusterIPs[0]: Invalid value: "010.0.0.1": must not have leading 0s'],
    ['a mapped address', ip('::ffff:1.2.3.4'), 'must not be an IPv4-mapped IPv6 address'],
    [
      'None and an address',
      { clusterIP: 'None', clusterIPs: ['None', '10.0.0.1'] },
      `spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: 'None' must be the first and only value`,
    ],
    ['three addresses', { clusterIPs: ['10.96.0.1', 'fd00::1', '10.0.0.2'] }, 'may only hold up to 2 values'],
    [
      'two of one family',
      { clusterIPs: ['10.96.0.1', '10.96.0.2'] },
      'spec.clusterIPs: Invalid value: ["10.96.0.1","10.96.0.2"]: may specify no more than one IP for each IP family',
    ],
    [
      'address of the wrong family',
      { ipFamilies: ['IPv6'] },
      'spec.clusterIPs[0]: Invalid value: "10.96.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
    ],
    [
      'loopback external IP',
      exposed('127.0.0.1'),
      'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
    ['bad external IP', exposed('x'), 'spec.externalIPs[0]: Invalid value: "x": must be a valid IP address'],
    [
      'source ranges elsewhere',
      { loadBalancerSourceRanges: ['10.0.0.0/8'] },
      "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ],
    [
      'bad source range',
      { ...balanced, loadBalancerSourceRanges: ['10.0.0.1/8'] },
      'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
    ],
    [
      'node port choice elsewhere',
      { allocateLoadBalancerNodePorts: true },
      "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ],
    [
      'no node port choice',
      { ...balanced, allocateLoadBalancerNodePorts: undefined },
      'allocateLoadBalancerNodePorts: Required value',
    ],
    [
      'class elsewhere',
      { loadBalancerClass: 'a' },
      "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ],
    [
      'bad class',
      { ...balanced, loadBalancerClass: 'a b' },
      'spec.loadBalancerClass: Invalid value: "a b": name part must consist of',
    ],
    [
      'external policy inside',
      { externalTrafficPolicy: 'Local' },
      'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
    ],
    [
      'unknown external policy',
      { ...balanced, externalTrafficPolicy: 'Some' },
      'spec.externalTrafficPolicy: Unsupported value: "Some": supported values: "Cluster", "Local"',
    ],
    [
      'no external policy',
      { ...balanced, externalTrafficPolicy: undefined },
      'spec.externalTrafficPolicy: Required value',
    ],
    [
      'health check port unasked',
      { ...balanced, healthCheckNodePort: 30000 },
      "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ],
    ['no health check port', { ...local, healthCheckNodePort: undefined }, 'spec.healthCheckNodePort: Required value'],
    [
      'health check port too large',
      { ...local, healthCheckNodePort: 70000 },
      'spec.healthCheckNodePort: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
    ['no internal policy', { internalTrafficPolicy: undefined }, 'spec.internalTrafficPolicy: Required value'],
    [
      'unknown internal policy',
      { internalTrafficPolicy: 'Some' },
      'spec.internalTrafficPolicy: Unsupported value: "Some": supported values: "Cluster", "Local"',
    ],
    [
      'unknown distribution',
      { trafficDistribution: 'Far' },
      'spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
    ],
  ])('%s', (_, fields, message) => {
    const errors = shown(serviceKind.validate!(service(fields)))
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain(message)
  })

  it.each<[Record<string, string>, string]>([
    [
      { 'service.beta.kubernetes.io/load-balancer-source-ranges': '10.0.0.0/8, x' },
      'metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      { 'service.kubernetes.io/topology-mode': 'Auto', 'service.kubernetes.io/topology-aware-hints': 'auto' },
      'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Auto": must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified',
    ],
  ])('annotations %o', (annotations, message) => {
    expect(shown(serviceKind.validate!(service(balanced, annotations)))).toEqual([message])
  })
})
