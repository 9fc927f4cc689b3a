import { CLUSTER_INFO_PATH } from '../api/kinds/core/cluster-info.ts'
import { isUnspecified, parseIP } from '../base/ip-address.ts'
import { machineAddress } from './server-names.ts'
import type { ClusterOptions } from './start-cluster.ts'

/** The address by which other machines reach one that listens there: itself, or one of all. */
export const reachedAt = (listen: string) => (isWildcard(listen) ? machineAddress() : listen)

/**
 * Where the API server listens for other machines, besides loopback. Who wants to join has to learn about the cluster
 * before the cluster knows them: that alone can be read without a name.
 */
export function openToMachines(
  { listen, authentication }: Pick<ClusterOptions, 'listen' | 'authentication'>,
  address: string,
): Pick<ClusterOptions, 'listen' | 'authentication'> {
  const places = isWildcard(address) ? { host: address } : { also: [address] }
  return {
    listen: { ...(listen || {}), ...places },
    authentication: { ...authentication, anonymousPaths: [CLUSTER_INFO_PATH] },
  }
}

function isWildcard(host: string): boolean {
  const ip = parseIP(host)
  return ip !== undefined && isUnspecified(ip)
}
