import type { Node } from '../../api/generated/core-v1.ts'
import { cidrContains, isLoopback, parseCIDR, parseIP } from '../../base/ip-address.ts'
import type { CertificateRequest } from '../certificate-signing/certificate-request.ts'

/** What is known of the cluster when a kubelet asks to be called by some names. */
export interface Surroundings {
  /** The name of the node that asks. */
  readonly nodeName: string
  readonly nodes: readonly Node[]
  /** Where API servers listen: who has one of these names could pass for one. */
  readonly apiServers: readonly string[]
  readonly serviceCidrs: readonly string[]
}

const addressesOf = (node: Node) =>
  (node.status?.addresses ?? []).filter(({ type }) => type.endsWith('IP')).map(({ address }) => address)

/**
 * Why a kubelet must not have these names; undefined if it may. Its own name and the addresses of its Node are its own,
 * unless they are somebody else's too: a node may write its addresses itself.
 */
export function namesProblem(
  { dnsNames, ipAddresses }: Pick<CertificateRequest, 'dnsNames' | 'ipAddresses'>,
  { nodeName, nodes, apiServers, serviceCidrs }: Surroundings,
): string | undefined {
  const foreign = dnsNames.find((name) => name !== nodeName)
  if (foreign !== undefined) return `${foreign} is not the name of the node`
  const own = nodes.filter(({ metadata }) => metadata.name === nodeName).flatMap(addressesOf)
  const others = nodes.filter(({ metadata }) => metadata.name !== nodeName).flatMap(addressesOf)
  const ranges = serviceCidrs.flatMap((cidr) => parseCIDR(cidr) ?? [])
  for (const address of ipAddresses) {
    const ip = parseIP(address)
    if (!own.includes(address) || !ip) return `${address} is not an address of the node`
    if (others.includes(address)) return `${address} is an address of another node`
    if (apiServers.includes(address) || isLoopback(ip)) return `${address} is an address of the API server`
    if (ranges.some((range) => cidrContains(range, ip))) return `${address} is an address of Services`
  }
  return undefined
}
