import type { ConfigMap } from '../api/generated/core-v1.ts'
import { NAMESPACE } from '../api/meta/well-known.ts'

/** What every node of the cluster has to know and to agree on; a machine that joins reads it from the API. */
export interface NodeConfiguration {
  readonly clusterCidrs: readonly string[]
  readonly serviceCidrs: readonly string[]
  /** The address of the Service kube-dns. */
  readonly clusterDns: string
  readonly clusterDomain: string
  /** How pods of different nodes reach each other. */
  readonly network: string
  /** How Services are reached, unless a node chooses otherwise. */
  readonly proxyMode: string
}

export const NODE_CONFIGURATION = { namespace: NAMESPACE.system, name: 'sampan-configuration' }

export const configurationData = (configuration: NodeConfiguration): Record<string, string> => ({
  clusterCIDR: configuration.clusterCidrs.join(','),
  serviceCIDR: configuration.serviceCidrs.join(','),
  clusterDNS: configuration.clusterDns,
  clusterDomain: configuration.clusterDomain,
  network: configuration.network,
  proxyMode: configuration.proxyMode,
})

/** Undefined if something is missing. */
export function readConfiguration({ data = {} }: ConfigMap): NodeConfiguration | undefined {
  const { clusterCIDR, serviceCIDR, clusterDNS: clusterDns, clusterDomain, network, proxyMode } = data
  if (!clusterCIDR || !serviceCIDR || !clusterDns || !clusterDomain || !network || !proxyMode) return undefined
  const [clusterCidrs, serviceCidrs] = [clusterCIDR.split(','), serviceCIDR.split(',')]
  return { clusterCidrs, serviceCidrs, clusterDns, clusterDomain, network, proxyMode }
}
