/** Names, sets and the words that rules are made of, for one IP family. */
import type { IPFamily } from '../../base/ip-address.ts'
import type { NftExpression, NftRegister } from '../../linux/nft-expressions.ts'
import { encodeValue, type NftType } from '../../linux/nft-values.ts'
import type { NftRule, NftSet, NftTable } from '../../linux/nftables.ts'

export const TABLE_NAME = 'sampan-services'

export interface Layout {
  readonly family: IPFamily
  readonly table: NftTable
  readonly address: NftType
  /** How many registers an address takes. */
  readonly words: number
  readonly sets: Readonly<Record<SetName, NftSet>>
}

export type SetName =
  | 'services'
  | 'nodeports'
  | 'endpoints'
  | 'nodeport-endpoints'
  | 'no-endpoint-services'
  | 'no-endpoint-nodeports'
  | 'cluster-ips'
  | 'hairpin'
  | 'firewall'
  | 'firewall-sources'
  | 'pod-cidrs'
  | 'nodeport-ips'
  | 'service-cidrs'

export function layoutOf(family: IPFamily, name = TABLE_NAME): Layout {
  const table: NftTable = { family: family === 'IPv4' ? 'ip' : 'ip6', name }
  const address: NftType = family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr'
  const frontend = [address, 'inet_proto', 'inet_service'] as const
  const nodePort = ['inet_proto', 'inet_service'] as const
  const endpoint = [address, 'inet_service'] as const
  const set = (name: SetName, key: readonly NftType[], comment: string, more: Partial<NftSet> = {}): NftSet => ({
    table,
    name,
    key,
    comment,
    ...more,
  })
  return {
    family,
    table,
    address,
    words: family === 'IPv4' ? 1 : 4,
    sets: {
      services: set('services', frontend, 'cluster, external and load-balancer IPs', { data: 'verdict' }),
      nodeports: set('nodeports', nodePort, 'node ports', { data: 'verdict' }),
      endpoints: set('endpoints', [...frontend, 'mark'], 'the endpoints of an address, numbered', { data: endpoint }),
      'nodeport-endpoints': set('nodeport-endpoints', [...nodePort, 'mark'], 'the endpoints of a node port, numbered', {
        data: endpoint,
      }),
      'no-endpoint-services': set('no-endpoint-services', frontend, 'addresses without an endpoint to go to', {
        data: 'verdict',
      }),
      'no-endpoint-nodeports': set('no-endpoint-nodeports', nodePort, 'node ports without an endpoint to go to', {
        data: 'verdict',
      }),
      'cluster-ips': set('cluster-ips', [address], 'cluster IPs in use'),
      hairpin: set('hairpin', [address, address], 'endpoints that reach themselves through a Service'),
      firewall: set('firewall', frontend, 'load-balancer IPs that are not for everyone'),
      'firewall-sources': set('firewall-sources', [...frontend, address], 'who may use them', { interval: true }),
      'pod-cidrs': set('pod-cidrs', [address], 'sources that are pods', { interval: true }),
      'nodeport-ips': set('nodeport-ips', [address], 'where node ports answer', { interval: true }),
      'service-cidrs': set('service-cidrs', [address], 'ranges of cluster IPs', { interval: true }),
    },
  }
}

export const source = ({ family }: Layout, to: NftRegister = 0): NftExpression =>
  family === 'IPv4'
    ? { expr: 'payload', base: 'network', offset: 12, length: 4, to }
    : { expr: 'payload', base: 'network', offset: 8, length: 16, to }

export const destination = ({ family }: Layout, to: NftRegister = 0): NftExpression =>
  family === 'IPv4'
    ? { expr: 'payload', base: 'network', offset: 16, length: 4, to }
    : { expr: 'payload', base: 'network', offset: 24, length: 16, to }

/** `meta l4proto . th dport`, the key of a node port. */
export const nodePortKey = (to: NftRegister = 0): NftExpression[] => [
  { expr: 'meta', key: 'l4proto', to },
  { expr: 'payload', base: 'transport', offset: 2, length: 2, to: to + 1 },
]

/** `ip daddr . meta l4proto . th dport`, the key of an address. */
export const frontendKey = (layout: Layout): NftExpression[] => [destination(layout), ...nodePortKey(layout.words)]

export const jump = (chain: string): NftExpression => ({ expr: 'verdict', verdict: 'jump', chain })
export const goto = (chain: string): NftExpression => ({ expr: 'verdict', verdict: 'goto', chain })
export const DROP: NftExpression = { expr: 'verdict', verdict: 'drop' }
export const MASQUERADE: NftExpression = { expr: 'masquerade', fullyRandom: true }

const CT_STATE_NEW = 8
const CT_STATUS_DNAT = 32
const FIB_LOCAL = 2
const ZERO = encodeValue('mark', 0)

export const isNewConnection: readonly NftExpression[] = [
  { expr: 'ct', key: 'state', to: 0 },
  { expr: 'bitwise', from: 0, to: 0, mask: encodeValue('mark', CT_STATE_NEW), xor: ZERO },
  { expr: 'compare', from: 0, op: 'ne', value: ZERO },
]

/** The client asked for another address than the one it was led to. */
export const isRedirected: readonly NftExpression[] = redirected('ne')
export const isNotRedirected: readonly NftExpression[] = redirected('eq')

function redirected(op: 'eq' | 'ne'): NftExpression[] {
  return [
    { expr: 'ct', key: 'status', to: 0 },
    { expr: 'bitwise', from: 0, to: 0, mask: encodeValue('mark', CT_STATUS_DNAT), xor: ZERO },
    { expr: 'compare', from: 0, op, value: ZERO },
  ]
}

/** The packet comes from, or goes to, an address of this node. */
export const isLocalAddress = (of: 'source' | 'destination'): NftExpression[] => [
  { expr: 'fib-type', of, to: 0 },
  { expr: 'compare', from: 0, op: 'eq', value: encodeValue('mark', FIB_LOCAL) },
]

export const rule = (expressions: readonly NftExpression[], comment?: string): NftRule => ({
  expressions,
  ...(comment !== undefined && { comment }),
})
