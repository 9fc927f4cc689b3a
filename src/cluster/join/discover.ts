import type { BootstrapToken } from '../../api/kinds/core/bootstrap-token.ts'
import { CLUSTER_INFO_KUBECONFIG, isSignedFor, SIGNATURE_PREFIX } from '../../api/kinds/core/cluster-info.ts'
import type { Clock } from '../../base/clock.ts'
import { parseKubeconfig } from '../../client/kubeconfig.ts'
import { publicKeyHash } from '../../x509/public-key-hash.ts'
import { UserError } from '../user-error.ts'
import { type FetchedInfo, fetchClusterInfo } from './cluster-info.ts'
import { NEW_TOKEN_HINT } from './hints.ts'

export interface DiscoverOptions {
  readonly server: URL
  readonly token: BootstrapToken
  /** `sha256:` and hex: of the public key of the cluster's authority. None: whoever knows the token is believed. */
  readonly caCertHashes: readonly string[]
  readonly clock: Clock
}

/** A cluster that proved who it is. */
export interface DiscoveredCluster {
  readonly server: string
  readonly ca: string
}

/** A token that was just made is signed for within moments. */
const SIGNATURE_PATIENCE = 3000
const SIGNATURE_INTERVAL = 250
/** Certificates count from five minutes before they were made. */
const MAX_CLOCK_SKEW = 4 * 60_000

/**
 * Finds out how to reach the cluster, and whether it is the one that the token is of: it signed what it says with the token,
 * and its authority has the key that was told beforehand.
 */
export async function discoverCluster(options: DiscoverOptions): Promise<DiscoveredCluster> {
  const { server, token, caCertHashes, clock } = options
  const info = await signedInfo(options)
  checkClock(info, clock)
  const kubeconfig = info.data[CLUSTER_INFO_KUBECONFIG]!
  if (!isSignedFor(kubeconfig, token, info.data[SIGNATURE_PREFIX + token.id]!))
    throw new UserError(`the secret of the token ${token.id} is not the one that the cluster knows`, [
      'Compare it with: sampan token list',
      NEW_TOKEN_HINT,
    ])
  const told = (await parseKubeconfig(kubeconfig, 'cluster-info')).clusters?.[0]?.cluster
  const ca = Buffer.from(told?.['certificate-authority-data'] ?? '', 'base64').toString()
  if (!told?.server || ca === '') throw new UserError('cluster-info tells neither a server nor its authority')
  checkAuthority(ca, caCertHashes)
  // From here on nobody in between can say anything else.
  const trusted = await fetchClusterInfo(server, ca)
  if (trusted.data[CLUSTER_INFO_KUBECONFIG] !== kubeconfig)
    throw new UserError('the cluster says something else to those who trust it: somebody is in between')
  return { server: server.origin, ca }
}

/** Asks until there is a signature for the token. */
async function signedInfo({ server, token, clock }: DiscoverOptions): Promise<FetchedInfo> {
  for (const end = clock.now() + SIGNATURE_PATIENCE; ; ) {
    const info = await fetchClusterInfo(server)
    const { [CLUSTER_INFO_KUBECONFIG]: kubeconfig, [SIGNATURE_PREFIX + token.id]: signature } = info.data
    if (kubeconfig !== undefined && signature !== undefined) return info
    if (clock.now() >= end)
      throw new UserError(`the cluster knows no token ${token.id}: it is mistyped, has expired, or was deleted`, [
        NEW_TOKEN_HINT,
      ])
    await clock.sleep(SIGNATURE_INTERVAL)
  }
}

function checkClock({ serverTime }: FetchedInfo, clock: Clock): void {
  if (serverTime === undefined) return
  const ahead = clock.now() - serverTime
  if (Math.abs(ahead) <= MAX_CLOCK_SKEW) return
  const minutes = Math.round(Math.abs(ahead) / 60_000)
  throw new UserError(
    `the clock of this machine is ${minutes} minutes ${ahead > 0 ? 'ahead of' : 'behind'} that of the cluster`,
    ['Certificates would not be valid. Set the clocks (timedatectl set-ntp true), then join again.'],
  )
}

function checkAuthority(ca: string, hashes: readonly string[]): void {
  if (hashes.length === 0 || hashes.includes(publicKeyHash(ca))) return
  throw new UserError(`the authority of this cluster is ${publicKeyHash(ca)}, not the one that was named`, [
    'Take --discovery-token-ca-cert-hash from "sampan token create --print-join-command" on the first machine.',
    'If it is the same there, somebody in between answers for the cluster.',
  ])
}
