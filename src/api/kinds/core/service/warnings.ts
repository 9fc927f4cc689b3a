import type { Service, ServiceSpec } from '../../../generated/core-v1.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { cidrWarnings, ipWarnings } from '../../../meta/ip-validation.ts'
import { CLUSTER_IP_NONE, isEmpty, specOf } from './service-type.ts'
import { TOPOLOGY_HINTS_ANNOTATION, TOPOLOGY_MODE_ANNOTATION } from './validation.ts'

const SPEC = FieldPath.root('spec')

export function serviceWarnings(service: Service): string[] {
  const spec = specOf(service)
  const warnings: string[] = []
  if (service.metadata.annotations?.[TOPOLOGY_HINTS_ANNOTATION] !== undefined) {
    warnings.push(
      `annotation ${TOPOLOGY_HINTS_ANNOTATION} is deprecated, please use ${TOPOLOGY_MODE_ANNOTATION} instead`,
    )
  }
  if (spec.type !== 'ExternalName' && spec.clusterIP !== CLUSTER_IP_NONE) {
    warnings.push(...listWarnings('clusterIPs', spec.clusterIPs, ipWarnings))
  }
  const headless = spec.type === 'ClusterIP' && spec.clusterIP === CLUSTER_IP_NONE
  if (headless) warnings.push(...headlessWarnings(spec))
  warnings.push(...externalIPWarnings(spec, headless))
  if (spec.loadBalancerIP) warnings.push(...ipWarnings(SPEC.child('loadBalancerIP'), spec.loadBalancerIP))
  warnings.push(...listWarnings('loadBalancerSourceRanges', spec.loadBalancerSourceRanges, cidrWarnings))
  warnings.push(...externalNameWarnings(spec))
  if (spec.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
  }
  return warnings
}

function listWarnings(
  field: string,
  values: readonly string[] | undefined,
  warn: (path: FieldPath, value: string) => string[],
): string[] {
  return (values ?? []).flatMap((value, i) => warn(SPEC.child(field).index(i), value))
}

function headlessWarnings(spec: Readonly<ServiceSpec>): string[] {
  const ignored: string[] = []
  if (spec.loadBalancerIP) ignored.push('loadBalancerIP')
  if (!isEmpty(spec.externalIPs)) ignored.push('externalIPs')
  if (spec.sessionAffinity !== 'None') ignored.push('SessionAffinity')
  return ignored.map((field) => `spec.${field} is ignored for headless services`)
}

function externalIPWarnings(spec: Readonly<ServiceSpec>, headless: boolean): string[] {
  if (isEmpty(spec.externalIPs)) return []
  const warnings = listWarnings('externalIPs', spec.externalIPs, ipWarnings)
  if (headless || spec.type === 'ExternalName') return warnings
  return [...warnings, 'spec.externalIPs is deprecated and may no longer be implemented in some clusters']
}

function externalNameWarnings(spec: Readonly<ServiceSpec>): string[] {
  if (spec.type === 'ExternalName') {
    return isEmpty(spec.externalIPs) ? [] : ['spec.externalIPs is ignored when spec.type is "ExternalName"']
  }
  return spec.externalName ? ['spec.externalName is ignored when spec.type is not "ExternalName"'] : []
}
