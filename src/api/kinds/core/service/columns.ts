import type { LoadBalancerStatus, Service, ServicePort } from '../../../generated/core-v1.ts'
import type { Column } from '../../../kind.ts'
import { ageColumn, column, nameColumn, wideColumn } from '../printed-columns.ts'
import { specOf } from './service-type.ts'

export const serviceColumns: readonly Column<Service>[] = [
  nameColumn,
  column<Service>('Type', 'How the Service is exposed.', (service) => specOf(service).type ?? ''),
  column<Service>(
    'Cluster-IP',
    'The address the Service answers on inside the cluster.',
    (service) => specOf(service).clusterIPs?.[0] ?? '<none>',
  ),
  column<Service>('External-IP', 'Addresses the Service answers on from outside.', externalAddress),
  column<Service>('Port(s)', 'Ports of the Service, with their node ports.', (service) => portList(service)),
  ageColumn,
  wideColumn<Service>('Selector', 'Labels of the pods that serve it.', (service) =>
    formatLabels(specOf(service).selector),
  ),
]

function externalAddress(service: Service): string {
  const spec = specOf(service)
  const externalIPs = spec.externalIPs ?? []
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return externalIPs.join(',') || '<none>'
    case 'LoadBalancer':
      return [...loadBalancerAddresses(service.status?.loadBalancer), ...externalIPs].join(',') || '<pending>'
    case 'ExternalName':
      return spec.externalName ?? ''
    default:
      return '<unknown>'
  }
}

/** Addresses or names a load balancer has, sorted, each once. */
export function loadBalancerAddresses(status: Pick<LoadBalancerStatus, 'ingress'> | undefined): string[] {
  const addresses = new Set<string>()
  for (const { ip, hostname } of status?.ingress ?? []) {
    if (ip || hostname) addresses.add(ip || hostname || '')
  }
  return [...addresses].sort()
}

const portList = (service: Service) => (specOf(service).ports ?? []).map(formatPort).join(',') || '<none>'

const formatPort = ({ port, nodePort, protocol }: ServicePort) =>
  nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`

function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return pairs.sort().join(',') || '<none>'
}
