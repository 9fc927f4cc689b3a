/** The rules that do not depend on Services: the chains of the three tables, and the jumps from the kernel's chains. */
import { type IPFamily, parseCIDR } from '../../base/ip-address.ts'
import type { ProxyNode } from '../backend.ts'
import { LOCALNET_CHAIN, type Localnet, localnetRules } from './localnet.ts'
import { comment, isOfFamily, podMatches } from './rule-text.ts'

export type TableName = 'mangle' | 'filter' | 'nat'
export const TABLES: readonly TableName[] = ['mangle', 'filter', 'nat']

export interface Jump {
  readonly table: TableName
  readonly from: string
  readonly to: string
  readonly rule: string
}

/** The chains that every port may add rules to. */
export type SharedChain =
  | 'filter KUBE-SERVICES'
  | 'filter KUBE-EXTERNAL-SERVICES'
  | 'filter KUBE-NODEPORTS'
  | 'filter KUBE-PROXY-FIREWALL'
  | 'filter KUBE-CLUSTER-IPS'
  | 'nat KUBE-SERVICES'
  | 'nat KUBE-NODEPORTS'

/** Chains of a table with the rules that stand at their end. */
export type TableChains = ReadonlyMap<string, readonly string[]>

export const MARK_CHAIN = 'KUBE-MARK-MASQ'
/** Marks packets that come from none of several pod CIDRs: one rule cannot match that. */
export const MARK_FOREIGN_CHAIN = 'KUBE-MARK-FOREIGN'
export const CANARY_CHAIN = 'KUBE-PROXY-CANARY'
const REJECT_CHAIN = 'KUBE-PROXY-REJECT'

const jump = (table: TableName, from: string, to: string, words = '', isForNew = false): Jump => ({
  table,
  from,
  to,
  rule: `${isForNew ? '-m conntrack --ctstate NEW ' : ''}${words === '' ? '' : `${comment(words)} `}-j ${to}`,
})

const FIREWALL = 'source ranges of load balancers'
const ADDRESSES = 'addresses of Services'
const EXTERNAL = 'external addresses of Services'

/** In the order in which packets meet them. */
export const JUMPS: readonly Jump[] = [
  jump('filter', 'INPUT', LOCALNET_CHAIN),
  jump('filter', 'INPUT', 'KUBE-PROXY-FIREWALL', FIREWALL, true),
  jump('filter', 'INPUT', 'KUBE-NODEPORTS', 'health check node ports'),
  jump('filter', 'INPUT', 'KUBE-EXTERNAL-SERVICES', EXTERNAL, true),
  jump('filter', 'FORWARD', 'KUBE-PROXY-FIREWALL', FIREWALL, true),
  jump('filter', 'FORWARD', 'KUBE-FORWARD', 'forwarded packets'),
  jump('filter', 'FORWARD', 'KUBE-SERVICES', ADDRESSES, true),
  jump('filter', 'FORWARD', 'KUBE-EXTERNAL-SERVICES', EXTERNAL, true),
  jump('filter', 'OUTPUT', LOCALNET_CHAIN),
  jump('filter', 'OUTPUT', 'KUBE-PROXY-FIREWALL', FIREWALL, true),
  jump('filter', 'OUTPUT', 'KUBE-SERVICES', ADDRESSES, true),
  jump('filter', 'OUTPUT', 'KUBE-EXTERNAL-SERVICES', EXTERNAL, true),
  jump('nat', 'PREROUTING', 'KUBE-SERVICES', ADDRESSES),
  jump('nat', 'OUTPUT', 'KUBE-SERVICES', ADDRESSES),
  jump('nat', 'POSTROUTING', 'KUBE-POSTROUTING', 'source addresses of marked packets'),
]

export function renderSkeleton(
  family: IPFamily,
  node: ProxyNode,
  localnet: Localnet,
): Readonly<Record<TableName, TableChains>> {
  return {
    mangle: new Map([[CANARY_CHAIN, []]]),
    filter: filterChains(family, node, localnet),
    nat: natChains(family, node),
  }
}

const markOf = (node: ProxyNode) => `0x${(2 ** node.masqueradeBit).toString(16)}`

function filterChains(family: IPFamily, node: ProxyNode, localnet: Localnet): TableChains {
  const mark = markOf(node)
  const unknown = node.serviceCIDRs
    .filter((cidr) => isOfFamily(cidr, family))
    .map((cidr) => `${comment('not an address and port of a Service')} -d ${cidr} -j KUBE-CLUSTER-IPS`)
  return new Map([
    [CANARY_CHAIN, []],
    [LOCALNET_CHAIN, localnetRules(localnet)],
    ['KUBE-NODEPORTS', []],
    ['KUBE-SERVICES', unknown],
    ['KUBE-EXTERNAL-SERVICES', []],
    ['KUBE-PROXY-FIREWALL', []],
    [
      'KUBE-FORWARD',
      [
        '-m conntrack --ctstate INVALID -j DROP',
        `${comment('marked packets to Services')} -m mark --mark ${mark}/${mark} -j ACCEPT`,
        `${comment('answers and the rest of known connections')} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
      ],
    ],
    ['KUBE-CLUSTER-IPS', [`${comment('no Service has this IP')} -j DROP`]],
    [REJECT_CHAIN, ['-p tcp -j REJECT --reject-with tcp-reset', '-j REJECT']],
  ])
}

/** Rejects packets to a port that the Service does not have. */
export const unknownPort = (ip: string, name: string) =>
  `${comment(`${name} has no such port`)} -d ${ip} -j ${REJECT_CHAIN}`

function natChains(family: IPFamily, node: ProxyNode): TableChains {
  const mark = markOf(node)
  const pods = podMatches(node.localDetector, family)
  return new Map([
    [CANARY_CHAIN, []],
    ['KUBE-SERVICES', nodePortJumps(family, node)],
    ['KUBE-NODEPORTS', []],
    [MARK_CHAIN, [`-j MARK --or-mark ${mark}`]],
    [MARK_FOREIGN_CHAIN, [...pods.map((match) => `${match} -j RETURN`), `-j ${MARK_CHAIN}`]],
    [
      'KUBE-POSTROUTING',
      [
        `-m mark ! --mark ${mark}/${mark} -j RETURN`,
        `-j MARK --xor-mark ${mark}`,
        `${comment('marked packets leave with the address of this node')} -j MASQUERADE --random-fully`,
      ],
    ],
  ])
}

/** Jumps for the addresses at which node ports answer. They come last: an address of a Service may be one of the node. */
function nodePortJumps(family: IPFamily, { nodePortAddresses, nodeIPs }: ProxyNode): string[] {
  const words = comment('node ports, after the addresses of all Services')
  if (nodePortAddresses === 'primary') {
    const primary = nodeIPs.find((ip) => isOfFamily(ip, family))
    return primary === undefined ? [] : [`${words} -d ${primary} -j KUBE-NODEPORTS`]
  }
  return nodePortAddresses
    .filter((cidr) => isOfFamily(cidr, family))
    .map((cidr) => {
      const isAll = parseCIDR(cidr)?.prefixLength === 0
      // Node ports do not answer on IPv6 loopback: the kernel has no route_localnet for IPv6.
      const where = !isAll ? ` -d ${cidr}` : family === 'IPv6' ? ' ! -d ::1/128' : ''
      return `${words} -m addrtype --dst-type LOCAL${where} -j KUBE-NODEPORTS`
    })
}
