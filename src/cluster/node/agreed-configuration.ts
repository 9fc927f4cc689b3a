import type { ConfigMap } from '../../api/generated/core-v1.ts'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import { type NodeConfiguration, SETTINGS } from '../configuration.ts'
import { UserError } from '../user-error.ts'

/** What all nodes of a cluster must agree on. A machine that joins reads it from the API. */
export interface AgreedConfiguration extends Required<Pick<NodeConfiguration, 'network' | 'proxyMode'>> {
  readonly clusterCidrs: readonly string[]
  readonly serviceCidrs: readonly string[]
  /** The address of the Service kube-dns. */
  readonly clusterDns: string
  readonly clusterDomain: string
}

/** That part of larger settings. */
export const agreedPart = (settings: AgreedConfiguration): AgreedConfiguration => ({
  clusterCidrs: settings.clusterCidrs,
  serviceCidrs: settings.serviceCidrs,
  clusterDns: settings.clusterDns,
  clusterDomain: settings.clusterDomain,
  network: settings.network,
  proxyMode: settings.proxyMode,
})

export const AGREED_CONFIGURATION = { namespace: NAMESPACE.system, name: 'sampan-configuration' }

export const configurationData = (configuration: AgreedConfiguration): Record<string, string> => ({
  clusterCIDR: configuration.clusterCidrs.join(','),
  serviceCIDR: configuration.serviceCidrs.join(','),
  clusterDNS: configuration.clusterDns,
  clusterDomain: configuration.clusterDomain,
  network: configuration.network,
  proxyMode: configuration.proxyMode,
})

/** Throws a `UserError` if something is missing, or unknown to this version. */
export function readConfiguration({ data = {} }: ConfigMap): AgreedConfiguration {
  const read = (key: string) => {
    if (data[key]) return data[key]
    const { namespace, name } = AGREED_CONFIGURATION
    throw new UserError(`the ConfigMap ${namespace}/${name} of the cluster has no ${key}`)
  }
  return {
    clusterCidrs: read('clusterCIDR').split(','),
    serviceCidrs: read('serviceCIDR').split(','),
    clusterDns: read('clusterDNS'),
    clusterDomain: read('clusterDomain'),
    network: known('network', read('network')),
    proxyMode: known('proxyMode', read('proxyMode')),
  }
}

function known<K extends 'network' | 'proxyMode'>(name: K, text: string): AgreedConfiguration[K] {
  try {
    return SETTINGS[name].parse(text) as AgreedConfiguration[K]
  } catch {
    throw new UserError(`the cluster has ${name} ${text}, which this version of Sampan does not know`, [
      'Install the version that the cluster runs.',
    ])
  }
}
