/**
 * From this machine the address of a load balancer leads to the first node, which passes it on. With a Local policy a node
 * passes nothing on: then the address leads to a node that has endpoints, as a load balancer's health checks would find.
 */

import type { Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { type Informer, objectKey } from '../../client/informer.ts'
import type { LocalNetwork, LocalNode } from './local-network.ts'

type Network = Pick<LocalNetwork, 'route' | 'unroute'>
type Services = Pick<Informer<Service>, 'get' | 'onChange'>
type Slices = Pick<Informer<EndpointSlice>, 'addIndexes' | 'byIndex' | 'onChange'>

const BY_SERVICE = 'service'

export function followLoadBalancers(
  network: Network,
  nodes: readonly LocalNode[],
  services: Services,
  slices: Slices,
): void {
  slices.addIndexes({ [BY_SERVICE]: (slice) => [serviceOf(slice)] })
  /** By service: which of its addresses lead where. */
  const routed = new Map<string, { readonly addresses: readonly string[]; readonly node: LocalNode }>()
  const follow = (key: string) => {
    const before = routed.get(key)
    const addresses = localAddresses(services.get(key))
    if (addresses.length === 0 && !before) return
    const node = chooseNode(nodes, slices.byIndex(BY_SERVICE, key), before?.node)
    const after = node && addresses.length > 0 ? { addresses, node } : undefined
    for (const ip of before?.addresses ?? []) {
      if (!after?.addresses.includes(ip)) network.unroute(`${ip}/32`, before!.node)
    }
    for (const ip of after?.addresses ?? []) {
      if (after!.node !== before?.node || !before.addresses.includes(ip)) network.route(`${ip}/32`, after!.node)
    }
    if (after) routed.set(key, after)
    else routed.delete(key)
  }
  services.onChange((old, current) => follow(objectKey((current ?? old)!)))
  slices.onChange((old, current) => {
    for (const key of new Set([old, current].map((slice) => (slice ? serviceOf(slice) : '')))) follow(key)
  })
}

const serviceOf = ({ metadata }: EndpointSlice) => `${metadata.namespace}/${metadata.labels?.[LABEL.serviceName] ?? ''}`

function localAddresses(service: Service | undefined): readonly string[] {
  const { spec = {}, status } = service ?? {}
  if (spec.type !== 'LoadBalancer' || spec.externalTrafficPolicy !== 'Local') return []
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip && !ip.includes(':') ? [ip] : []))
}

/** One with a ready endpoint, the same as before if it can be: connections stay where they are. */
function chooseNode(
  nodes: readonly LocalNode[],
  slices: readonly EndpointSlice[],
  before: LocalNode | undefined,
): LocalNode | undefined {
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? [])
  const ready = new Set(
    endpoints.flatMap(({ conditions, nodeName }) => (conditions?.ready === false ? [] : [nodeName])),
  )
  return before && ready.has(before.name) ? before : nodes.find(({ name }) => ready.has(name))
}
