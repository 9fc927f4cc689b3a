import type { LoadBalancerIngress, Service, ServicePort as ServicePortSpec } from '../../api/generated/core-v1.ts'
import {
  type CIDR,
  formatCIDR,
  formatIP,
  type IPFamily,
  parseSloppyCIDR,
  parseSloppyIP,
} from '../../base/ip-address.ts'
import type { Protocol, ServicePort } from '../service-port.ts'
import { isLeftAlone } from './left-alone.ts'

/** All of a port that comes from the Service itself. */
export type PortSpec = Omit<
  ServicePort,
  'clusterEndpoints' | 'localEndpoints' | 'servingEndpoints' | 'hasEndpoints'
> & { readonly portName: string; readonly createdAt: string; readonly uid: string }

const FAMILIES: readonly IPFamily[] = ['IPv4', 'IPv6']
const DEFAULT_AFFINITY_SECONDS = 10_800

/** Whether this proxy has anything to do for the Service: it has an address, and nobody else cares for it. */
export function isProxied(service: Service): boolean {
  const { type, clusterIP, clusterIPs } = service.spec ?? {}
  const address = clusterIP || clusterIPs?.[0]
  if (!address || address === 'None' || type === 'ExternalName') return false
  return !isLeftAlone(service.metadata)
}

/** One for each port and each family in which the Service has an address. */
export function portSpecsOf(service: Service): PortSpec[] {
  if (!isProxied(service)) return []
  const { spec = {} } = service
  const clusterIPs = addressesOf(spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP ?? ''])
  return FAMILIES.flatMap((family) => {
    const [clusterIP] = clusterIPs[family]
    if (clusterIP === undefined) return []
    const shared = sharedSpec(service, family, clusterIP)
    return (spec.ports ?? []).map((port) => portSpec(shared, port))
  })
}

type SharedSpec = Omit<PortSpec, 'key' | 'name' | 'protocol' | 'port' | 'nodePort' | 'portName'>

function sharedSpec(service: Service, family: IPFamily, clusterIP: string): SharedSpec {
  const { spec = {}, metadata } = service
  const loadBalancerIPs = loadBalancerAddresses(service)[family]
  return {
    service: `${metadata.namespace}/${metadata.name}`,
    createdAt: metadata.creationTimestamp ?? '',
    uid: metadata.uid ?? '',
    family,
    clusterIP,
    loadBalancerIPs,
    externalIPs: addressesOf(spec.externalIPs ?? [])[family].filter(
      (ip) => ip !== clusterIP && !loadBalancerIPs.includes(ip),
    ),
    sourceRanges: sourceRangesOf(spec.loadBalancerSourceRanges ?? [], family),
    affinitySeconds: affinityOf(service),
    internalPolicyLocal: spec.internalTrafficPolicy === 'Local',
    externalPolicyLocal: spec.externalTrafficPolicy === 'Local',
    healthCheckNodePort: spec.externalTrafficPolicy === 'Local' ? (spec.healthCheckNodePort ?? 0) : 0,
  }
}

function portSpec(shared: SharedSpec, port: ServicePortSpec): PortSpec {
  const protocol = (port.protocol ?? 'TCP') as Protocol
  const portName = port.name ?? ''
  const name = portName === '' ? shared.service : `${shared.service}:${portName}`
  return {
    ...shared,
    key: `${name}/${protocol}/${shared.family}`,
    name,
    portName,
    protocol,
    port: port.port,
    nodePort: port.nodePort ?? 0,
  }
}

function affinityOf({ spec = {} }: Service): number | undefined {
  if (spec.sessionAffinity !== 'ClientIP') return undefined
  return spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? DEFAULT_AFFINITY_SECONDS
}

/** `ipMode: Proxy` says that the load balancer must see the packet first. */
const isVirtual = ({ ipMode }: LoadBalancerIngress) => ipMode === undefined || ipMode === 'VIP'

const loadBalancerAddresses = ({ spec, status }: Service) =>
  addressesOf(
    spec?.type === 'LoadBalancer'
      ? (status?.loadBalancer?.ingress ?? []).filter(isVirtual).map(({ ip }) => ip ?? '')
      : [],
  )

/** By family, canonical, each once; what is no address is left out. */
function addressesOf(texts: readonly string[]): Readonly<Record<IPFamily, readonly string[]>> {
  const found: Record<IPFamily, Set<string>> = { IPv4: new Set(), IPv6: new Set() }
  for (const text of texts) {
    const ip = parseSloppyIP(text)
    if (ip) found[ip.family].add(formatIP(ip))
  }
  return { IPv4: [...found.IPv4], IPv6: [...found.IPv6] }
}

function sourceRangesOf(ranges: readonly string[], family: IPFamily): readonly string[] {
  const cidrs = ranges.map((range) => parseSloppyCIDR(range.trim()))
  return cidrs.filter((cidr): cidr is CIDR => cidr?.family === family).map(formatCIDR)
}
