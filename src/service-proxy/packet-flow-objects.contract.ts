/** The objects and addresses behind the names in the packet-flow tables. */
import type { Service } from '../api/generated/core-v1.ts'
import type { Endpoint, EndpointSlice } from '../api/generated/discovery-v1.ts'
import type { IPFamily } from '../base/ip-address.ts'
import type { ProxyNode } from './backend.ts'
import type { FlowEndpoint, FlowScenario, FlowService } from './packet-flows.contract.ts'

export const THIS_NODE = 'here'
export const TARGET_PORT = 8080

const FIXED: Readonly<Record<string, readonly [string, string]>> = {
  P: ['10.244.0.20', 'fd00:10:244::20'],
  N: ['192.168.10.1', 'fd00:192:168:10::1'],
  O: ['192.168.30.1', 'fd00:192:168:30::1'],
  E: ['192.168.10.100', 'fd00:192:168:10::100'],
  F: ['192.168.10.101', 'fd00:192:168:10::101'],
  U: ['10.96.0.200', 'fd00:10:96::200'],
}
const NUMBERED: Readonly<Record<string, readonly [string, string]>> = {
  C: ['10.96.0.', 'fd00:10:96::'],
  X: ['172.16.1.', 'fd00:172:16:1::'],
  B: ['172.16.2.', 'fd00:172:16:2::'],
  L: ['10.244.0.', 'fd00:10:244::'],
  R: ['10.244.1.', 'fd00:10:244:1::'],
}

export const POD_CIDRS: Readonly<Record<IPFamily, string>> = { IPv4: '10.244.0.0/16', IPv6: 'fd00:10:244::/48' }
export const SERVICE_CIDRS: Readonly<Record<IPFamily, string>> = { IPv4: '10.96.0.0/16', IPv6: 'fd00:10:96::/112' }

export function addressOf(name: string, family: IPFamily): string {
  const at = family === 'IPv4' ? 0 : 1
  const fixed = FIXED[name]
  return fixed ? fixed[at] : `${NUMBERED[name[0]!]![at]}${Number(name.slice(1)) + 4}`
}

/** Where the names are. Several families make dual-stack Services. */
export interface Placement {
  readonly families: readonly IPFamily[]
  addressOf(name: string, family: IPFamily): string
  nodeNameOf(endpoint: string): string
}

/** The places of the tables themselves: one node, and others that no rule needs to know more of. */
export const placementOf = (...families: readonly IPFamily[]): Placement => ({
  families,
  addressOf,
  nodeNameOf: (endpoint) => (endpoint.startsWith('L') ? THIS_NODE : 'there'),
})

/** What the proxy of the node with this name is told of it. */
export const nodeOf = (scenario: FlowScenario, { families, addressOf }: Placement, name = 'N'): ProxyNode => ({
  nodeIPs: families.map((family) => addressOf(name, family)),
  localDetector: scenario.withoutDetector
    ? { by: 'none' }
    : { by: 'cidr', cidrs: families.map((family) => POD_CIDRS[family]) },
  masqueradeAll: scenario.masqueradeAll ?? false,
  masqueradeBit: 14,
  nodePortAddresses: 'primary',
  serviceCIDRs: families.map((family) => SERVICE_CIDRS[family]),
})

export const nodeLabelsOf = ({ zone }: FlowScenario): Record<string, string> =>
  zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone }

export function objectsOf(
  scenario: FlowScenario,
  placement: Placement,
): { services: Service[]; endpointSlices: EndpointSlice[] } {
  return {
    services: scenario.services.map((service) => serviceObject(service, placement)),
    endpointSlices: placement.families.flatMap((family) =>
      scenario.services.map((service) => sliceObject(service, family, placement)),
    ),
  }
}

function serviceObject(flow: FlowService, { families, addressOf }: Placement): Service {
  const ips = (name: string) => families.map((family) => addressOf(name, family))
  const ports = flow.ports.map(parsePort)
  const hasNodePort = ports.some(({ nodePort }) => nodePort !== undefined)
  return {
    metadata: { namespace: 'default', name: flow.name, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      type: flow.loadBalancerIPs ? 'LoadBalancer' : hasNodePort ? 'NodePort' : 'ClusterIP',
      clusterIP: ips(flow.clusterIP)[0]!,
      clusterIPs: ips(flow.clusterIP),
      ipFamilies: [...families],
      ports,
      internalTrafficPolicy: flow.internal ?? 'Cluster',
      externalTrafficPolicy: flow.external ?? 'Cluster',
      ...(flow.externalIPs && { externalIPs: flow.externalIPs.flatMap(ips) }),
      ...(flow.sourceRanges && { loadBalancerSourceRanges: flow.sourceRanges.flatMap(ips).map(hostRange) }),
      ...(flow.affinitySeconds !== undefined && {
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: flow.affinitySeconds } },
      }),
    },
    status: {
      loadBalancer: {
        ingress: (flow.loadBalancerIPs ?? [])
          .flatMap(ips)
          .map((ip) => ({ ip, ...(flow.ipMode && { ipMode: flow.ipMode }) })),
      },
    },
  }
}

const hostRange = (ip: string) => `${ip}/${ip.includes(':') ? 128 : 32}`

interface ParsedPort {
  name: string
  port: number
  protocol: string
  targetPort: number
  nodePort?: number
}

/** `80:30080/UDP` */
function parsePort(text: string): ParsedPort {
  const [numbers, protocol = 'TCP'] = text.split('/') as [string, string?]
  const [port, nodePort] = numbers.split(':').map(Number) as [number, number?]
  const name = `p${port}-${protocol.toLowerCase()}`
  return { name, port, protocol, targetPort: TARGET_PORT, ...(nodePort !== undefined && { nodePort }) }
}

const sliceObject = (flow: FlowService, family: IPFamily, placement: Placement): EndpointSlice => ({
  metadata: {
    namespace: 'default',
    name: `${flow.name}-${family.toLowerCase()}`,
    labels: { 'kubernetes.io/service-name': flow.name },
  },
  addressType: family,
  endpoints: flow.endpoints.map((endpoint) => endpointObject(endpoint, family, placement)),
  ports: flow.ports.map(parsePort).map(({ name, protocol }) => ({ name, protocol, port: TARGET_PORT })),
})

const CONDITIONS: Readonly<Record<string, Endpoint['conditions']>> = {
  ready: { ready: true, serving: true, terminating: false },
  unready: { ready: false, serving: false, terminating: false },
  terminating: { ready: false, serving: true, terminating: true },
  dead: { ready: false, serving: false, terminating: true },
}

function endpointObject(
  endpoint: string | FlowEndpoint,
  family: IPFamily,
  { addressOf, nodeNameOf }: Placement,
): Endpoint {
  const { is, zones, nodes } =
    typeof endpoint === 'string' ? { is: endpoint, zones: undefined, nodes: undefined } : endpoint
  const [name, condition = 'ready'] = is.split(' ') as [string, string?]
  return {
    addresses: [addressOf(name, family)],
    conditions: CONDITIONS[condition]!,
    nodeName: nodeNameOf(name),
    ...((zones || nodes) && {
      hints: {
        ...(zones && { forZones: zones.map((zone) => ({ name: zone })) }),
        ...(nodes && { forNodes: nodes.map((node) => ({ name: node })) }),
      },
    }),
  }
}
