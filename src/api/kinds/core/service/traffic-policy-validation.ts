import type { ServiceSpec } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { isPortNumber } from '../../../meta/names.ts'
import { addInvalid } from './port-validation.ts'
import { hasNodePorts, isExternallyAccessible, needsHealthCheckNodePort } from './service-type.ts'

const SPEC = FieldPath.root('spec')
const EXTERNAL_POLICY = SPEC.child('externalTrafficPolicy')
const INTERNAL_POLICY = SPEC.child('internalTrafficPolicy')
const HEALTH_CHECK_NODE_PORT = SPEC.child('healthCheckNodePort')

const POLICIES = ['Cluster', 'Local'] as const
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode'] as const

export function validateTrafficPolicies(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  validateExternalPolicy(errors, spec)
  validateHealthCheckNodePort(errors, spec)
  validateInternalPolicy(errors, spec)
  const distribution = spec.trafficDistribution
  if (distribution !== undefined && !DISTRIBUTIONS.includes(distribution as 'PreferClose')) {
    errors.push(notSupported(SPEC.child('trafficDistribution'), distribution, DISTRIBUTIONS))
  }
}

function validateExternalPolicy(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  const policy = spec.externalTrafficPolicy
  if (!isExternallyAccessible(spec)) {
    if (policy) errors.push(invalid(EXTERNAL_POLICY, policy, 'may only be set for externally-accessible services'))
  } else if (!policy) errors.push(required(EXTERNAL_POLICY))
  else if (!POLICIES.includes(policy as 'Local')) errors.push(notSupported(EXTERNAL_POLICY, policy, POLICIES))
}

function validateHealthCheckNodePort(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  const port = spec.healthCheckNodePort
  if (!needsHealthCheckNodePort(spec)) {
    if (!port) return
    const message = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
    errors.push(invalid(HEALTH_CHECK_NODE_PORT, port, message))
  } else if (!port) errors.push(required(HEALTH_CHECK_NODE_PORT))
  else addInvalid(errors, HEALTH_CHECK_NODE_PORT, port, isPortNumber(port))
}

function validateInternalPolicy(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  const policy = spec.internalTrafficPolicy
  if (policy === undefined) {
    if (spec.type === 'ClusterIP' || hasNodePorts(spec)) errors.push(required(INTERNAL_POLICY))
  } else if (!POLICIES.includes(policy as 'Local')) errors.push(notSupported(INTERNAL_POLICY, policy, POLICIES))
}

export function validateHealthCheckUpdate(
  errors: FieldError[],
  spec: Readonly<ServiceSpec>,
  before: Readonly<ServiceSpec>,
): void {
  if (!needsHealthCheckNodePort(before) || !needsHealthCheckNodePort(spec)) return
  if (spec.healthCheckNodePort === before.healthCheckNodePort) return
  errors.push(forbidden(HEALTH_CHECK_NODE_PORT, 'field is immutable'))
}
