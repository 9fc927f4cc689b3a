import { parseSloppyIP } from '../../../../base/ip-address.ts'
import type { LoadBalancerIngress, Service, ServiceSpec } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { validateCIDR, validateIP } from '../../../meta/ip-validation.ts'
import { isDns1123Subdomain, isQualifiedName } from '../../../meta/names.ts'
import { addInvalid } from './port-validation.ts'
import { isEmpty, specOf } from './service-type.ts'

const SPEC = FieldPath.root('spec')
const LOAD_BALANCER_CLASS = SPEC.child('loadBalancerClass')
/** Spelled with a capital letter in the messages users know. */
const SOURCE_RANGES = SPEC.child('LoadBalancerSourceRanges')
const SOURCE_RANGES_ANNOTATION = 'service.beta.kubernetes.io/load-balancer-source-ranges'
const ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"
const IP_MODES = ['Proxy', 'VIP'] as const

export function validateLoadBalancerFields(errors: FieldError[], service: Service): void {
  const spec = specOf(service)
  validateSourceRanges(errors, service, spec)
  const isLoadBalancer = spec.type === 'LoadBalancer'
  if (spec.allocateLoadBalancerNodePorts !== undefined && !isLoadBalancer) {
    errors.push(forbidden(SPEC.child('allocateLoadBalancerNodePorts'), ONLY_LOAD_BALANCER))
  }
  if (spec.allocateLoadBalancerNodePorts === undefined && isLoadBalancer) {
    errors.push(required(FieldPath.root('allocateLoadBalancerNodePorts')))
  }
  if (spec.loadBalancerClass === undefined) return
  if (!isLoadBalancer) errors.push(forbidden(LOAD_BALANCER_CLASS, ONLY_LOAD_BALANCER))
  else addInvalid(errors, LOAD_BALANCER_CLASS, spec.loadBalancerClass, isQualifiedName(spec.loadBalancerClass))
}

/** The field, or the annotation it grew out of. Both may be padded with spaces. */
function validateSourceRanges(errors: FieldError[], service: Service, spec: Readonly<ServiceSpec>): void {
  const annotation = service.metadata.annotations?.[SOURCE_RANGES_ANNOTATION]
  const ranges = spec.loadBalancerSourceRanges ?? []
  if (ranges.length > 0) {
    if (spec.type !== 'LoadBalancer') errors.push(forbidden(SOURCE_RANGES, ONLY_LOAD_BALANCER))
    for (let i = 0; i < ranges.length; i++) validateCIDR(errors, SOURCE_RANGES.index(i), ranges[i]!.trim())
  } else if (annotation !== undefined) {
    const path = FieldPath.root('metadata').child('annotations').key(SOURCE_RANGES_ANNOTATION)
    if (spec.type !== 'LoadBalancer') errors.push(forbidden(path, ONLY_LOAD_BALANCER))
    if (annotation.trim() === '') return
    for (const range of annotation.split(',')) validateCIDR(errors, path, range.trim())
  }
}

/** The class says who serves the load balancer: it stays as long as the type does. */
export function validateLoadBalancerClass(
  errors: FieldError[],
  spec: Readonly<ServiceSpec>,
  before: Readonly<ServiceSpec>,
): void {
  if (spec.type !== 'LoadBalancer' || before.type !== 'LoadBalancer') return
  if (spec.loadBalancerClass === before.loadBalancerClass) return
  errors.push(invalid(LOAD_BALANCER_CLASS, spec.loadBalancerClass, 'may not change once set'))
}

export function validateServiceStatus(service: Service): FieldError[] {
  const errors: FieldError[] = []
  const ingresses = service.status?.loadBalancer?.ingress ?? []
  const path = FieldPath.root('status').child('loadBalancer', 'ingress')
  if (specOf(service).type !== 'LoadBalancer' && !isEmpty(ingresses)) {
    errors.push(forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"))
    return errors
  }
  for (let i = 0; i < ingresses.length; i++) validateIngressPoint(errors, ingresses[i]!, path.index(i))
  return errors
}

function validateIngressPoint(errors: FieldError[], ingress: LoadBalancerIngress, path: FieldPath): void {
  if (ingress.ip) validateIP(errors, path.child('ip'), ingress.ip)
  const modePath = path.child('ipMode')
  if (ingress.ipMode === undefined) {
    if (ingress.ip) errors.push(required(modePath, 'must be specified when `ip` is set'))
  } else if (!ingress.ip) errors.push(forbidden(modePath, 'may not be specified when `ip` is not set'))
  else if (!IP_MODES.includes(ingress.ipMode as 'VIP')) errors.push(notSupported(modePath, ingress.ipMode, IP_MODES))
  if (ingress.hostname) validateIngressHostname(errors, ingress.hostname, path.child('hostname'))
}

/** A name that a load balancer answers to, not an address dressed as one. */
export function validateIngressHostname(errors: FieldError[], hostname: string, path: FieldPath): void {
  addInvalid(errors, path, hostname, isDns1123Subdomain(hostname))
  if (parseSloppyIP(hostname)) errors.push(invalid(path, hostname, 'must be a DNS name, not an IP address'))
}
