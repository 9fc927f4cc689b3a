import type { Service, ServicePort, ServiceSpec } from '../../../generated/core-v1.ts'
import { draftSpec, hasNodePorts, isExternallyAccessible, needsClusterIP } from './service-type.ts'

/** Three hours: how long a client stays with its endpoint. */
const CLIENT_IP_TIMEOUT_SECONDS = 10800

export function serviceDefaults(draft: Service): void {
  const spec = draftSpec(draft)
  dropUnset(spec)
  affinityDefaults(spec)
  spec.type ||= 'ClusterIP'
  for (const port of spec.ports ?? []) portDefaults(port)
  if (isExternallyAccessible(spec) && !spec.externalTrafficPolicy) spec.externalTrafficPolicy = 'Cluster'
  if (spec.internalTrafficPolicy === undefined && (spec.type === 'ClusterIP' || hasNodePorts(spec))) {
    spec.internalTrafficPolicy = 'Cluster'
  }
  if (!needsClusterIP(spec)) delete spec.internalTrafficPolicy
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true
  statusDefaults(draft)
}

/** An empty text, list or zero in these fields says nothing, and is not kept. */
function dropUnset(spec: ServiceSpec): void {
  for (const field of UNSET_WHEN_EMPTY) {
    const value = spec[field]
    if (value === '' || value === 0 || (Array.isArray(value) && value.length === 0)) delete spec[field]
  }
}
const UNSET_WHEN_EMPTY = [
  'clusterIP',
  'clusterIPs',
  'externalIPs',
  'externalName',
  'externalTrafficPolicy',
  'healthCheckNodePort',
  'ipFamilies',
  'loadBalancerIP',
  'loadBalancerSourceRanges',
  'ports',
] as const satisfies (keyof ServiceSpec)[]

function affinityDefaults(spec: ServiceSpec): void {
  spec.sessionAffinity ||= 'None'
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig
  if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: CLIENT_IP_TIMEOUT_SECONDS } }
  }
}

function portDefaults(port: ServicePort): void {
  port.protocol ||= 'TCP'
  if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '') port.targetPort = port.port ?? 0
  if (port.nodePort === 0) delete port.nodePort
  if (port.name === '') delete port.name
}

/** Whoever writes the status alone sends no spec along: only load balancers have addresses here. */
function statusDefaults({ status }: Service): void {
  for (const ingress of status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= 'VIP'
}
