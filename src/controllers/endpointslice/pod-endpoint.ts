import type { Container, Node, Pod, Service, ServicePort } from '../../api/generated/core-v1.ts'
import type { Endpoint, EndpointHints, EndpointPort } from '../../api/generated/discovery-v1.ts'
import { ANNOTATION, LABEL } from '../../api/meta/well-known.ts'
import { hostnameFor, isHeadless, isPodReady, isServing, podAddresses } from './service-pods.ts'

export type AddressType = 'IPv4' | 'IPv6'

/** Endpoints of one slice share their ports, so pods whose named ports differ go into different slices. */
export interface PortGroup {
  readonly key: string
  readonly ports: EndpointPort[]
}

export function addressTypesOf(service: Service): AddressType[] {
  const families = service.spec?.ipFamilies ?? []
  if (families.length > 0) return families as AddressType[]
  if (isHeadless(service)) return ['IPv4', 'IPv6']
  return [familyOf(service.spec?.clusterIP ?? '')]
}

export const familyOf = (ip: string): AddressType => (ip.includes(':') ? 'IPv6' : 'IPv4')

export const zoneOf = (node: Node | undefined) => node?.metadata.labels?.[LABEL.zone]

/** The endpoint a pod is for a Service, or none. A pod on a node that is gone is on its way out as well. */
export function podEndpoint(
  service: Service,
  pod: Pod,
  node: Node | undefined,
  addressType: AddressType,
): Endpoint | undefined {
  const publishAlways = service.spec?.publishNotReadyAddresses === true
  if (!isServing(pod, true) || (!node && !publishAlways)) return undefined
  const addresses = podAddresses(pod).filter((ip) => familyOf(ip) === addressType)
  if (addresses.length === 0) return undefined
  const serving = isPodReady(pod)
  const terminating = pod.metadata.deletionTimestamp !== undefined
  const hostname = hostnameFor(service, pod)
  const zone = zoneOf(node)
  const nodeName = pod.spec?.nodeName
  const { namespace, name, uid } = pod.metadata
  const endpoint: Endpoint = {
    addresses,
    conditions: { ready: publishAlways || (serving && !terminating), serving, terminating },
    ...(hostname && { hostname }),
    ...(nodeName && { nodeName }),
    ...(zone && { zone }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  }
  const hints = closeHints(service, endpoint)
  return hints ? { ...endpoint, hints } : endpoint
}

/** `service.kubernetes.io/topology-mode: Auto`, or its older name. */
export function wantsTopologyHints(service: Service): boolean {
  const annotations = service.metadata.annotations ?? {}
  const mode = annotations[ANNOTATION.topologyAwareHints] ?? annotations[ANNOTATION.topologyMode] ?? ''
  return mode === 'Auto' || mode === 'auto'
}

/** KEP-3015, KEP-4444: traffic stays in the endpoint's zone, or on its node. The older annotation goes before it. */
function closeHints(service: Service, endpoint: Endpoint): EndpointHints | undefined {
  const distribution = service.spec?.trafficDistribution
  if (!distribution || !endpoint.conditions?.ready || wantsTopologyHints(service)) return undefined
  const isNode = distribution === 'PreferSameNode'
  if (!isNode && distribution !== 'PreferSameZone' && distribution !== 'PreferClose') return undefined
  const { zone, nodeName } = endpoint
  const forZones = zone ? [{ name: zone }] : undefined
  const forNodes = isNode && nodeName ? [{ name: nodeName }] : undefined
  return forZones || forNodes ? { ...(forZones && { forZones }), ...(forNodes && { forNodes }) } : undefined
}

/** Resolves the ports of a Service for its pods. Where no port is named, all pods share one answer. */
export class TargetPorts {
  readonly #ports: readonly ServicePort[]
  readonly #common: PortGroup | undefined

  constructor(service: Service) {
    this.#ports = service.spec?.ports ?? []
    const isNamed = this.#ports.some((port) => typeof port.targetPort === 'string')
    if (!isNamed) this.#common = portGroup(this.#ports.map((port) => endpointPort(port, targetNumber(port))))
  }

  of(pod: Pod): PortGroup {
    if (this.#common) return this.#common
    const ports: EndpointPort[] = []
    for (const port of this.#ports) {
      const number = findPort(pod, port)
      if (number !== undefined) ports.push(endpointPort(port, number))
    }
    return portGroup(ports)
  }
}

/** The number of the port a Service port leads to in a pod; undefined if the pod has no port of that name. */
export function findPort(pod: Pod, port: ServicePort): number | undefined {
  if (typeof port.targetPort !== 'string') return targetNumber(port)
  const sidecars = (pod.spec?.initContainers ?? []).filter((container) => container.restartPolicy === 'Always')
  return namedPort(pod.spec?.containers ?? [], port) ?? namedPort(sidecars, port)
}

function namedPort(containers: readonly Container[], { targetPort, protocol }: ServicePort): number | undefined {
  for (const container of containers)
    for (const port of container.ports ?? [])
      if (port.name === targetPort && (port.protocol ?? 'TCP') === (protocol ?? 'TCP')) return port.containerPort
  return undefined
}

const targetNumber = (port: ServicePort) => (port.targetPort as number | undefined) || port.port

const endpointPort = ({ name = '', protocol = 'TCP', appProtocol }: ServicePort, port: number): EndpointPort => ({
  name,
  port,
  protocol,
  ...(appProtocol !== undefined && { appProtocol }),
})

export function portGroup(ports: EndpointPort[]): PortGroup {
  const parts = ports.map(({ name = '', port, protocol, appProtocol = '' }) =>
    [name, port, protocol, appProtocol].join(':'),
  )
  return { key: parts.sort().join(','), ports }
}
