import type { EndpointAddress, EndpointPort, EndpointSubset, Pod, Service } from '../../api/generated/core-v1.ts'
import { addressTypesOf, familyOf, type PortGroup, type TargetPorts } from '../endpointslice/pod-endpoint.ts'
import { hostnameFor, isHeadless, isPodReady, isServing, podAddresses } from '../endpointslice/service-pods.ts'

/** What one pod contributes to its Service's Endpoints. */
export interface PodAddress {
  readonly address: EndpointAddress
  readonly group: PortGroup
  readonly isReady: boolean
}

/** More addresses than this would make every change too large to send to every node. */
export const MAX_ADDRESSES = 1000

/** A pod's address in the first family of the Service, or nothing. */
export function podAddress(service: Service, ports: TargetPorts, pod: Pod): PodAddress | undefined {
  const publishAlways = service.spec?.publishNotReadyAddresses === true
  if (!isServing(pod, publishAlways)) return undefined
  const family = addressTypesOf(service)[0]
  const ip = podAddresses(pod).find((address) => familyOf(address) === family)
  const group = ports.of(pod)
  if (ip === undefined || (group.ports.length === 0 && !mayLackPorts(service))) return undefined
  const { namespace, name, uid } = pod.metadata
  const hostname = hostnameFor(service, pod)
  const nodeName = pod.spec?.nodeName
  const address = {
    ip,
    ...(hostname && { hostname }),
    ...(nodeName && { nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  }
  return { address, group, isReady: publishAlways || isPodReady(pod) }
}

const mayLackPorts = (service: Service) => isHeadless(service) && (service.spec?.ports ?? []).length === 0

export interface Subsets {
  readonly subsets: EndpointSubset[]
  readonly isTruncated: boolean
}

interface Group {
  readonly ports: EndpointPort[]
  readonly ready: EndpointAddress[]
  readonly notReady: EndpointAddress[]
}

/** Addresses with the same ports form a subset. If there are too many, ready ones are kept before others. */
export function subsetsOf(addresses: Iterable<PodAddress>): Subsets {
  const groups = new Map<string, Group>()
  let ready = 0
  let notReady = 0
  for (const { address, group, isReady } of addresses) {
    let one = groups.get(group.key)
    if (!one) {
      one = { ports: group.ports as EndpointPort[], ready: [], notReady: [] }
      groups.set(group.key, one)
    }
    if (isReady) ready++
    else notReady++
    ;(isReady ? one.ready : one.notReady).push(address)
  }
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
  const isTruncated = ready + notReady > MAX_ADDRESSES
  if (isTruncated) truncate(sorted, ready, notReady)
  return { subsets: sorted.filter(hasAddresses).map(subsetOf), isTruncated }
}

const hasAddresses = ({ ready, notReady }: Group) => ready.length + notReady.length > 0

function subsetOf({ ports, ready, notReady }: Group): EndpointSubset {
  return {
    ...(ready.length > 0 && { addresses: ready }),
    ...(notReady.length > 0 && { notReadyAddresses: notReady }),
    ...(ports.length > 0 && { ports: ports.map(withoutEmptyName) }),
  }
}

function withoutEmptyName({ name, ...port }: EndpointPort): EndpointPort {
  return name ? { name, ...port } : port
}

/** Cuts each subset in proportion to its size. */
function truncate(groups: readonly Group[], ready: number, notReady: number): void {
  const field = ready > MAX_ADDRESSES ? 'ready' : 'notReady'
  const limit = field === 'ready' ? MAX_ADDRESSES : MAX_ADDRESSES - ready
  const total = field === 'ready' ? ready : notReady
  let left = limit
  for (const group of groups) {
    const share = Math.min(left, Math.ceil((group[field].length / total) * limit))
    group[field].length = Math.min(group[field].length, share)
    left -= group[field].length
    if (field === 'ready') group.notReady.length = 0
  }
}
