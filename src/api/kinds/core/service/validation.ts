import type { Service, ServiceSpec, SessionAffinityConfig } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { validateEndpointIP, validateIP } from '../../../meta/ip-validation.ts'
import { validateLabels } from '../../../meta/labels-validation.ts'
import { isDns1123Subdomain } from '../../../meta/names.ts'
import { ANNOTATION } from '../../../meta/well-known.ts'
import { validateClusterIPs, validateClusterIPsUpdate } from './cluster-ip-validation.ts'
import { validateLoadBalancerClass, validateLoadBalancerFields } from './load-balancer-validation.ts'
import { addInvalid, validatePortClashes, validateServicePorts } from './port-validation.ts'
import { isEmpty, isHeadless, specOf } from './service-type.ts'
import { validateHealthCheckUpdate, validateTrafficPolicies } from './traffic-policy-validation.ts'

const SPEC = FieldPath.root('spec')
const PORTS = SPEC.child('ports')
const EXTERNAL_IPS = SPEC.child('externalIPs')

export const TOPOLOGY_HINTS_ANNOTATION = ANNOTATION.topologyAwareHints
export const TOPOLOGY_MODE_ANNOTATION = ANNOTATION.topologyMode

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'] as const
const AFFINITIES = ['ClientIP', 'None'] as const

/** One day: the longest a client may be bound to its endpoint. */
const MAX_CLIENT_IP_TIMEOUT_SECONDS = 86400

export function validateService(service: Service): FieldError[] {
  const errors: FieldError[] = []
  const spec = specOf(service)
  validateTopologyAnnotations(errors, service)
  if (isEmpty(spec.ports) && !isHeadless(spec) && spec.type !== 'ExternalName') errors.push(required(PORTS))
  validateByType(errors, spec)
  validateServicePorts(errors, spec, PORTS)
  if (spec.selector) errors.push(...validateLabels(spec.selector, SPEC.child('selector')))
  validateSessionAffinity(errors, spec)
  validateClusterIPs(errors, spec)
  validateExternalIPs(errors, spec)
  if (!spec.type) errors.push(required(SPEC.child('type')))
  else if (!TYPES.includes(spec.type as 'ClusterIP')) errors.push(notSupported(SPEC.child('type'), spec.type, TYPES))
  validatePortClashes(errors, spec, PORTS)
  validateLoadBalancerFields(errors, service)
  validateTrafficPolicies(errors, spec)
  return errors
}

export function validateServiceUpdate(service: Service, old: Service): FieldError[] {
  const errors: FieldError[] = []
  validateClusterIPsUpdate(errors, service, old)
  validateLoadBalancerClass(errors, specOf(service), specOf(old))
  validateHealthCheckUpdate(errors, specOf(service), specOf(old))
  return errors
}

function validateTopologyAnnotations(errors: FieldError[], service: Service): void {
  const annotations = service.metadata.annotations
  const mode = annotations?.[TOPOLOGY_MODE_ANNOTATION]
  const hints = annotations?.[TOPOLOGY_HINTS_ANNOTATION]
  if (mode === undefined || hints === undefined || mode === hints) return
  const path = FieldPath.root('metadata').child('annotations').key(TOPOLOGY_MODE_ANNOTATION)
  errors.push(invalid(path, mode, `must match annotations[${TOPOLOGY_HINTS_ANNOTATION}] when both are specified`))
}

function validateByType(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  if (spec.type === 'ExternalName') validateExternalName(errors, spec)
  else if ((spec.type === 'LoadBalancer' || spec.type === 'NodePort') && isHeadless(spec)) {
    const path = SPEC.child('clusterIPs').index(0)
    errors.push(invalid(path, spec.clusterIPs![0], `may not be set to 'None' for ${spec.type} services`))
  }
}

function validateExternalName(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  const refuse = (field: string) =>
    errors.push(forbidden(SPEC.child(field), 'may not be set for ExternalName services'))
  if (!isEmpty(spec.clusterIPs)) refuse('clusterIPs')
  if (!isEmpty(spec.ipFamilies)) refuse('ipFamilies')
  if (spec.ipFamilyPolicy !== undefined) refuse('ipFamilyPolicy')
  // A trailing dot says that the name is complete.
  const name = (spec.externalName ?? '').replace(/\.$/, '')
  const path = SPEC.child('externalName')
  if (name === '') errors.push(required(path))
  else addInvalid(errors, path, name, isDns1123Subdomain(name))
}

function validateSessionAffinity(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  const { sessionAffinity, sessionAffinityConfig } = spec
  const path = SPEC.child('sessionAffinity')
  if (!sessionAffinity) errors.push(required(path))
  else if (!AFFINITIES.includes(sessionAffinity as 'None')) errors.push(notSupported(path, sessionAffinity, AFFINITIES))
  if (sessionAffinity === 'ClientIP') validateClientIPAffinity(errors, sessionAffinityConfig)
  else if (sessionAffinity === 'None' && sessionAffinityConfig) {
    errors.push(forbidden(SPEC.child('sessionAffinityConfig'), 'must not be set when session affinity is None'))
  }
}

function validateClientIPAffinity(errors: FieldError[], config: SessionAffinityConfig | undefined): void {
  const path = SPEC.child('sessionAffinityConfig')
  const why = 'when session affinity type is ClientIP'
  const timeout = config?.clientIP?.timeoutSeconds
  if (!config) errors.push(required(path, why))
  else if (!config.clientIP) errors.push(required(path.child('clientIP'), why))
  else if (timeout === undefined) errors.push(required(path.child('clientIP', 'timeoutSeconds'), why))
  else if (timeout <= 0 || timeout > MAX_CLIENT_IP_TIMEOUT_SECONDS) {
    const message = `must be greater than 0 and less than ${MAX_CLIENT_IP_TIMEOUT_SECONDS}`
    errors.push(invalid(path.child('clientIP', 'timeoutSeconds'), timeout, message))
  }
}

function validateExternalIPs(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  const ips = spec.externalIPs ?? []
  for (let i = 0; i < ips.length; i++) {
    const path = EXTERNAL_IPS.index(i)
    if (validateIP(errors, path, ips[i]!)) validateEndpointIP(errors, path, ips[i]!)
  }
}
