import type { Container, Node, Pod, ResourceFieldSelector } from '../../api/generated/core-v1.ts'
import { parseAmount, type ResourceList } from '../../api/kinds/core/pod/resources.ts'
import { milliValue, parseQuantity, value } from '../../api/meta/quantity.ts'

/** Addresses of the pod and its node as they are when a container starts. */
export interface PodAddresses {
  readonly podIPs: readonly string[]
  readonly hostIPs: readonly string[]
}

/** A field of the pod as text: for environment variables and downward API files. */
export function podField(pod: Pod, path: string, addresses: PodAddresses): string {
  const { metadata, spec } = pod
  const subscript = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path)
  if (subscript) return metadata[subscript[1] as 'labels' | 'annotations']?.[subscript[2]!] ?? ''
  switch (path) {
    case 'metadata.name':
      return metadata.name ?? ''
    case 'metadata.namespace':
      return metadata.namespace ?? ''
    case 'metadata.uid':
      return metadata.uid ?? ''
    case 'metadata.labels':
      return mapText(metadata.labels)
    case 'metadata.annotations':
      return mapText(metadata.annotations)
    case 'spec.nodeName':
      return spec?.nodeName ?? ''
    case 'spec.serviceAccountName':
      return spec?.serviceAccountName ?? ''
    case 'status.hostIP':
      return addresses.hostIPs[0] ?? ''
    case 'status.hostIPs':
      return addresses.hostIPs.join(',')
    case 'status.podIP':
      return addresses.podIPs[0] ?? ''
    case 'status.podIPs':
      return addresses.podIPs.join(',')
    default:
      throw new Error(`unsupported fieldPath: ${path}`)
  }
}

/** One `key="value"` per line, in the order of the keys. */
function mapText(map: Record<string, string> = {}): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${JSON.stringify(map[key])}`)
    .join('\n')
}

const RESOURCE = /^(limits|requests)\.(.+)$/

/** A limit or request of a container in units of the divisor, rounded up. What has no limit may use the whole node. */
export function resourceField(container: Container, selector: ResourceFieldSelector, node: Node | undefined): string {
  const match = RESOURCE.exec(selector.resource)
  if (!match) throw new Error(`unsupported container resource : ${selector.resource}`)
  const [, list = '', name = ''] = match
  const amounts = container.resources?.[list as 'limits' | 'requests'] as ResourceList | undefined
  const amount = amounts?.[name] ?? (list === 'limits' ? node?.status?.allocatable?.[name] : undefined) ?? '0'
  const quantity = parseAmount(amount)
  const divisor = parseQuantity(String(selector.divisor ?? '1'))
  const unit = divisor && value(divisor) > 0 ? divisor : parseQuantity('1')!
  if (!quantity) return '0'
  const ratio = name === 'cpu' ? milliValue(quantity) / milliValue(unit) : value(quantity) / value(unit)
  return String(Math.ceil(ratio))
}
