/**
 * Node ports at 127.0.0.1, as kube-proxy has them in this mode for IPv4: the kernel must be told to route such packets to pods,
 * and then others must be kept from sending any (https://issue.k8s.io/90259).
 */
import type { IPFamily } from '../../base/ip-address.ts'
import { cidrsOverlap, parseCIDR } from '../../base/ip-address.ts'
import type { Sysctl } from '../../linux/sysctl.ts'
import type { ProxyNode } from '../backend.ts'
import { comment } from './rule-text.ts'
import type { SavedTables } from './saved-rules.ts'

export const LOCALNET_CHAIN = 'KUBE-FIREWALL'
const ROUTE_LOCALNET = 'net/ipv4/conf/all/route_localnet'
const LOOPBACK = '127.0.0.0/8'
/** Says what to go back to when all is taken away. */
const WAS_OFF = 'route_localnet was off'

export type Localnet = 'unused' | 'was-off' | 'was-on'

/** What this node needs, and what was there before us, of this process or a former one. */
export function localnetOf(family: IPFamily, node: ProxyNode, saved: SavedTables, sysctl: Sysctl): Localnet {
  const { nodePortAddresses } = node
  if (family !== 'IPv4' || nodePortAddresses === 'primary') return 'unused'
  const loopback = parseCIDR(LOOPBACK)!
  if (!nodePortAddresses.some((cidr) => cidrsOverlap(parseCIDR(cidr) ?? loopback, loopback))) return 'unused'
  return wasOff(saved) || sysctl.read(ROUTE_LOCALNET) !== '1' ? 'was-off' : 'was-on'
}

export function localnetRules(localnet: Localnet): string[] {
  if (localnet === 'unused') return []
  const strangers = `${comment('block incoming localnet connections')} -d ${LOOPBACK} ! -s ${LOOPBACK}`
  return [
    ...(localnet === 'was-off' ? [comment(WAS_OFF)] : []),
    `${strangers} -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`,
  ]
}

/** When the rules that keep strangers away are in effect. */
export function routeLocalnet(localnet: Localnet, sysctl: Sysctl): void {
  if (localnet !== 'unused' && sysctl.read(ROUTE_LOCALNET) !== '1') sysctl.write(ROUTE_LOCALNET, 1)
}

/** Before they go. */
export function restoreLocalnet(saved: SavedTables, sysctl: Sysctl): void {
  if (wasOff(saved)) sysctl.write(ROUTE_LOCALNET, 0)
}

const wasOff = (saved: SavedTables) =>
  saved
    .get('filter')
    ?.get(LOCALNET_CHAIN)
    ?.some((rule) => rule.includes(WAS_OFF)) ?? false
