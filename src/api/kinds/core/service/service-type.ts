import type { Service, ServiceSpec } from '../../../generated/core-v1.ts'

/** What a Service's type and policies mean for its other fields. A Service without a spec is like an empty one. */

export const EMPTY_SPEC: Readonly<ServiceSpec> = Object.freeze({})
export const specOf = (service: Service): Readonly<ServiceSpec> => service.spec ?? EMPTY_SPEC

/** The spec of a draft, made if there is none. */
export function draftSpec(draft: Service): ServiceSpec {
  draft.spec ??= {}
  return draft.spec
}

export const CLUSTER_IP_NONE = 'None'

/** No address of its own: its name resolves to the endpoints. */
export const isHeadless = (spec: Readonly<ServiceSpec>) =>
  spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === CLUSTER_IP_NONE

export const needsClusterIP = (spec: Readonly<ServiceSpec>) => spec.type !== 'ExternalName'

export const hasNodePorts = (spec: Readonly<ServiceSpec>) => spec.type === 'NodePort' || spec.type === 'LoadBalancer'

/** Whether ports without a node port get one. */
export const allocatesNodePorts = (spec: Readonly<ServiceSpec>) =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false)

/** Load balancers that keep the client's address ask each node whether it has an endpoint. */
export const needsHealthCheckNodePort = (spec: Readonly<ServiceSpec>) =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'

export const isExternallyAccessible = (spec: Readonly<ServiceSpec>) =>
  hasNodePorts(spec) || (spec.type === 'ClusterIP' && !isEmpty(spec.externalIPs))

/** The node ports of the Service's ports, without its health check port. May hold a number twice: TCP and UDP. */
export function nodePortsOf(spec: Readonly<ServiceSpec>): number[] {
  const ports: number[] = []
  for (const port of spec.ports ?? []) if (port.nodePort) ports.push(port.nodePort)
  return ports
}

export const isEmpty = (list: readonly unknown[] | undefined) => list === undefined || list.length === 0

export function sameList(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  const length = a?.length ?? 0
  if (length !== (b?.length ?? 0)) return false
  for (let i = 0; i < length; i++) if (a![i] !== b![i]) return false
  return true
}
