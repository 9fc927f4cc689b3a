/**
 * What nodes tell each other about the pod network. The names are flannel's, so that nodes of both kinds can be in one cluster:
 * https://github.com/flannel-io/flannel/blob/master/Documentation/kubernetes.md
 */
const PREFIX = 'flannel.alpha.coreos.com'

export const ANNOTATIONS = {
  backendType: `${PREFIX}/backend-type`,
  backendData: `${PREFIX}/backend-data`,
  backendV6Data: `${PREFIX}/backend-v6-data`,
  publicIP: `${PREFIX}/public-ip`,
  publicIPv6: `${PREFIX}/public-ipv6`,
  /** Set by the administrator of a node behind NAT. */
  publicIPOverwrite: `${PREFIX}/public-ip-overwrite`,
  publicIPv6Overwrite: `${PREFIX}/public-ipv6-overwrite`,
  subnetManager: `${PREFIX}/kube-subnet-manager`,
} as const

/** What every backend tells of its node. */
export function nodeAnnotations(backendType: string, publicAddresses: readonly string[]): Record<string, string> {
  const ipv4 = publicAddresses.find((address) => !address.includes(':'))
  const ipv6 = publicAddresses.find((address) => address.includes(':'))
  return {
    [ANNOTATIONS.backendType]: backendType,
    [ANNOTATIONS.subnetManager]: 'true',
    ...(ipv4 && { [ANNOTATIONS.publicIP]: ipv4 }),
    ...(ipv6 && { [ANNOTATIONS.publicIPv6]: ipv6 }),
  }
}
