import type { Node } from '../../api/generated/core-v1.ts'
import { cidrContainsCIDR, formatCIDR, parseCIDR, parseIP } from '../../base/ip-address.ts'
import type { Peer } from '../pod-network.ts'
import { ANNOTATIONS } from './annotations.ts'

/** What a Node object says of the node's network. */
export function peerOf(node: Node): Peer {
  const annotations = node.metadata.annotations ?? {}
  const internal = internalAddresses(node)
  const ipv4 =
    annotations[ANNOTATIONS.publicIPOverwrite] ?? annotations[ANNOTATIONS.publicIP] ?? internal.find(isFamily('IPv4'))
  const ipv6 =
    annotations[ANNOTATIONS.publicIPv6Overwrite] ??
    annotations[ANNOTATIONS.publicIPv6] ??
    internal.find(isFamily('IPv6'))
  return {
    name: node.metadata.name ?? '',
    podCIDRs: podCIDRsOf(node),
    publicAddresses: [ipv4, ipv6].filter(
      (address) => address !== undefined && parseIP(address) !== undefined,
    ) as string[],
    annotations: backendAnnotations(annotations),
  }
}

/** The same, without ranges that are not of the cluster's pods: a node may write its own when it registers. */
export function peerWithin(clusterCIDRs: readonly string[], node: Node): Peer {
  const peer = peerOf(node)
  const ranges = clusterCIDRs.flatMap((cidr) => parseCIDR(cidr) ?? [])
  const isInside = (text: string) => ranges.some((range) => cidrContainsCIDR(range, parseCIDR(text)!))
  return peer.podCIDRs.every(isInside) ? peer : { ...peer, podCIDRs: peer.podCIDRs.filter(isInside) }
}

/** In the order of the Node, canonical, without what is no CIDR. */
export function podCIDRsOf({ spec }: Node): string[] {
  const texts = spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : [])
  return texts.flatMap((text) => {
    const cidr = parseCIDR(text)
    return cidr ? [formatCIDR(cidr)] : []
  })
}

export function internalAddresses({ status }: Node): string[] {
  return (status?.addresses ?? []).filter(({ type }) => type === 'InternalIP').map(({ address }) => address)
}

const isFamily = (family: 'IPv4' | 'IPv6') => (address: string) => parseIP(address)?.family === family

function backendAnnotations(annotations: Readonly<Record<string, string>>): Record<string, string> {
  const { backendType, backendData, backendV6Data } = ANNOTATIONS
  const picked: Record<string, string> = {}
  for (const name of [backendType, backendData, backendV6Data]) {
    if (annotations[name] !== undefined) picked[name] = annotations[name]
  }
  return picked
}

/** A Node without what the pod network does not need: with a thousand nodes it would be most of the memory. */
export function slimNode(node: Node): Node {
  const { name, uid, resourceVersion, annotations } = node.metadata
  return {
    apiVersion: node.apiVersion,
    kind: node.kind,
    metadata: { name, uid, resourceVersion, annotations },
    spec: { podCIDR: node.spec?.podCIDR, podCIDRs: node.spec?.podCIDRs },
    status: { addresses: node.status?.addresses },
  } as Node
}
