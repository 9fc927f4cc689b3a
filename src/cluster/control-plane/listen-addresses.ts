import { CLUSTER_INFO_PATH } from '../../api/kinds/core/cluster-info.ts'
import { isUnspecified, parseIP } from '../../base/ip-address.ts'
import type { ClusterOptions } from '../cluster.ts'
import { machineAddress } from '../credentials/server-names.ts'

/** The address by which other machines reach a server that listens there. */
export const reachedAt = (listen: string) => (isWildcard(listen) ? machineAddress() : listen)

/**
 * Where the API server listens for other machines, besides loopback. A machine that wants to join reads cluster-info before
 * it has credentials: only that is open to anonymous requests.
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

export function isWildcard(host: string): boolean {
  const ip = parseIP(host)
  return ip !== undefined && isUnspecified(ip)
}
