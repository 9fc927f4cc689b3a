import type { Service, ServicePort, ServiceSpec } from '../../../generated/core-v1.ts'
import { keepField } from '../../../strategy.ts'
import {
  allocatesNodePorts,
  draftSpec,
  hasNodePorts,
  isEmpty,
  isExternallyAccessible,
  needsClusterIP,
  needsHealthCheckNodePort,
  nodePortsOf,
  sameList,
  specOf,
} from './service-type.ts'

/**
 * Fields of a Service hang together, and some are filled by the server. A user who sends the same manifest again, or
 * changes only the type, should not have to know: what was allocated is kept, what no longer applies goes.
 */
export function prepareServiceCreate(draft: Service): void {
  delete draft.status
  linkClusterIPs(draftSpec(draft), undefined)
}

export function prepareServiceUpdate(draft: Service, old: Service): void {
  const spec = draftSpec(draft)
  const before = specOf(old)
  keepField(draft, old, 'status')
  keepAllocated(spec, before)
  linkClusterIPs(spec, before)
  dropWhatNoLongerApplies(spec, before)
  if (spec.type !== 'LoadBalancer' && draft.status?.loadBalancer?.ingress) {
    draft.status = { ...draft.status, loadBalancer: {} }
  }
}

/** Takes from the old spec what was allocated for the user and left out now. */
export function keepAllocated(spec: ServiceSpec, before: Readonly<ServiceSpec>): void {
  if (needsClusterIP(before) && needsClusterIP(spec)) {
    if (!spec.clusterIP && before.clusterIP) spec.clusterIP = before.clusterIP
    if (isEmpty(spec.clusterIPs) && !isEmpty(before.clusterIPs)) spec.clusterIPs = [...before.clusterIPs!]
  }
  if (allocatesNodePorts(before) && allocatesNodePorts(spec)) keepNodePorts(spec, before)
  if (needsHealthCheckNodePort(before) && needsHealthCheckNodePort(spec) && before.healthCheckNodePort) {
    spec.healthCheckNodePort ||= before.healthCheckNodePort
  }
}

/** A port keeps its node port by name, unless another port of the new spec has taken that. */
function keepNodePorts(spec: ServiceSpec, before: Readonly<ServiceSpec>): void {
  const wanted = new Set(nodePortsOf(spec))
  const byName = new Map((before.ports ?? []).map((port) => [port.name ?? '', port.nodePort]))
  for (const port of spec.ports ?? []) {
    if (port.nodePort) continue
    const known = byName.get(port.name ?? '')
    if (known && !wanted.has(known)) port.nodePort = known
  }
}

/** Clients may know only `clusterIP`: `clusterIPs` follows it. */
export function linkClusterIPs(spec: ServiceSpec, before: Readonly<ServiceSpec> | undefined): void {
  if (before === undefined) {
    if (spec.clusterIP && isEmpty(spec.clusterIPs)) spec.clusterIPs = [spec.clusterIP]
    return
  }
  const sameFirst = (before.clusterIP ?? '') === (spec.clusterIP ?? '')
  if (sameFirst && isEmpty(spec.clusterIPs) && !isEmpty(before.clusterIPs)) spec.clusterIPs = [...before.clusterIPs!]
  if (sameFirst || !sameList(before.clusterIPs, spec.clusterIPs)) return
  if (spec.clusterIP) spec.clusterIPs = [spec.clusterIP]
  else delete spec.clusterIPs
}

/** Fields that only the old type used go, unless the user changed them too: then validation says what is wrong. */
function dropWhatNoLongerApplies(spec: ServiceSpec, before: Readonly<ServiceSpec>): void {
  if (needsClusterIP(before) && !needsClusterIP(spec)) dropClusterIPFields(spec, before)
  if (hasNodePorts(before) && !hasNodePorts(spec) && isSubset(nodePortsOf(spec), nodePortsOf(before))) {
    for (const port of spec.ports ?? []) delete (port as Partial<ServicePort>).nodePort
  }
  if (needsHealthCheckNodePort(before) && !needsHealthCheckNodePort(spec))
    dropIfSame(spec, before, 'healthCheckNodePort')
  if (before.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    dropIfSame(spec, before, 'allocateLoadBalancerNodePorts')
    dropIfSame(spec, before, 'loadBalancerClass')
  }
  if (isExternallyAccessible(before) && !isExternallyAccessible(spec)) dropIfSame(spec, before, 'externalTrafficPolicy')
}

function dropClusterIPFields(spec: ServiceSpec, before: Readonly<ServiceSpec>): void {
  if ((spec.clusterIP ?? '') === (before.clusterIP ?? '') && sameList(spec.clusterIPs, before.clusterIPs)) {
    delete spec.clusterIP
    delete spec.clusterIPs
  }
  if (sameList(spec.ipFamilies, before.ipFamilies)) delete spec.ipFamilies
  dropIfSame(spec, before, 'ipFamilyPolicy')
}

function dropIfSame(spec: ServiceSpec, before: Readonly<ServiceSpec>, field: keyof ServiceSpec): void {
  if (spec[field] === before[field]) delete spec[field]
}

function isSubset(part: readonly number[], whole: readonly number[]): boolean {
  const known = new Set(whole)
  return part.every((item) => known.has(item))
}
