/**
 * What the packet filter does for pods, as one table:
 *
 *   prerouting, output   a local address and a host port     -> the pod
 *   postrouting          from a pod to outside the cluster   -> masqueraded
 *                        from a pod to itself by a host port -> masqueraded, so that the answer comes back the same way
 *                        from 127.0.0.1 to a host port       -> masqueraded: a pod could not answer it
 *   guard                from a pod to 127.0.0.0/8           -> dropped; `route_localnet` would let it in
 */
import type { NftExpression } from '../../linux/nft-expressions.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import { encodeValue } from '../../linux/nft-values.ts'
import type { NftChain, NftSet } from '../../linux/nftables.ts'
import {
  address,
  IPV4,
  IPV6,
  isFamily,
  isOf,
  type Layout,
  onLink,
  rangeOf,
  strictCIDR,
  withoutContained,
} from '../rules/match.ts'

export const TABLE = { family: 'inet', name: 'sampan-pod-network' } as const

const chain = (name: string): NftChain => ({ table: TABLE, name })
const set = (name: string, shape: Omit<NftSet, 'table' | 'name'>): NftSet => ({ table: TABLE, name, ...shape })

const podRanges = ({ family, type }: Layout) => set(`${family}-pods`, { key: [type], interval: true })
const clusterRanges = ({ family, type }: Layout) => set(`${family}-cluster`, { key: [type], interval: true })
export const hostPorts = ({ family, type }: Layout) =>
  set(`${family}-host-ports`, { key: ['inet_proto', 'inet_service'], data: [type, 'inet_service'] })
export const hostAddressPorts = ({ family, type }: Layout) =>
  set(`${family}-host-address-ports`, { key: [type, 'inet_proto', 'inet_service'], data: [type, 'inet_service'] })
export const hairpins = ({ family, type }: Layout) => set(`${family}-hairpins`, { key: [type, type] })

export interface RulesPlan {
  readonly bridge: string
  readonly podCIDRs: readonly string[]
  readonly clusterCIDRs: readonly string[]
}

/** The whole table, in place of the one that is there. */
export function renderTable(plan: RulesPlan): NftTransaction {
  const transaction = new NftTransaction().destroyTable(TABLE).addTable(TABLE)
  transaction
    .addChain({ ...chain('guard'), base: { type: 'filter', hook: 'prerouting', priority: -300 } })
    .addChain({ ...chain('prerouting'), base: { type: 'nat', hook: 'prerouting', priority: -100 } })
    .addChain({ ...chain('output'), base: { type: 'nat', hook: 'output', priority: -100 } })
    .addChain({ ...chain('postrouting'), base: { type: 'nat', hook: 'postrouting', priority: 100 } })
    .addChain(chain('host-ports'))
  transaction.addRule(chain('guard'), {
    comment: 'pods must not reach the loopback addresses of the node',
    expressions: [
      ...onLink('iifname', plan.bridge),
      ...isIPv4Loopback(IPV4.destination),
      { expr: 'verdict', verdict: 'drop' },
    ],
  })
  for (const from of ['prerouting', 'output']) transaction.addRule(chain(from), { expressions: toHostPorts })
  transaction.addRule(chain('postrouting'), {
    comment: 'from the node itself to a host port',
    expressions: [...onLink('oifname', plan.bridge), ...isIPv4Loopback(IPV4.source), { expr: 'masquerade' }],
  })
  for (const layout of [IPV4, IPV6]) addFamily(transaction, layout, plan)
  return transaction
}

function addFamily(transaction: NftTransaction, layout: Layout, plan: RulesPlan): void {
  const { family } = layout
  for (const each of [podRanges, clusterRanges, hostPorts, hostAddressPorts, hairpins]) transaction.addSet(each(layout))
  const pods = plan.podCIDRs.map(strictCIDR).filter(isOf(layout))
  const cluster = plan.clusterCIDRs.map(strictCIDR).filter(isOf(layout))
  const never = layout.neverMasqueraded.map(strictCIDR)
  transaction.addElements(podRanges(layout), pods.map(rangeOf))
  transaction.addElements(clusterRanges(layout), withoutContained([...cluster, ...pods, ...never]).map(rangeOf))
  addHostPortRules(transaction, layout)
  transaction
    .addRule(chain('postrouting'), {
      comment: 'from a pod to itself',
      expressions: [
        ...isFamily(layout),
        { expr: 'payload', base: 'network', offset: layout.source, length: 2 * layout.addressBytes, to: 0 },
        { expr: 'lookup', set: hairpins(layout).name, from: 0 },
        { expr: 'masquerade' },
      ],
    })
    .addRule(chain('postrouting'), {
      comment: 'from pods to outside the cluster',
      expressions: [
        ...isFamily(layout),
        address(layout, 'source'),
        { expr: 'lookup', set: `${family}-pods`, from: 0 },
        address(layout, 'destination'),
        { expr: 'lookup', set: `${family}-cluster`, from: 0, inverted: true },
        { expr: 'masquerade', fullyRandom: true },
      ],
    })
}

/** First those of one address, then those of all. */
function addHostPortRules(transaction: NftTransaction, layout: Layout): void {
  const words = layout.addressBytes / 4
  const to = words + 2
  const redirect = (map: NftSet): NftExpression[] => [
    { expr: 'map', set: map.name, from: map.key.length === 3 ? 0 : words, to },
    { expr: 'nat', type: 'destination', family: layout.family, address: to, port: to + words },
  ]
  if (layout === IPV6) {
    // There is no way back to ::1, so nothing leads away from it.
    const loopback = encodeValue('ipv6_addr', '::1')
    transaction.addRule(chain('host-ports'), {
      expressions: [
        ...isFamily(layout),
        address(layout, 'destination'),
        { expr: 'compare', from: 0, op: 'eq', value: loopback },
        { expr: 'verdict', verdict: 'return' },
      ],
    })
  }
  for (const map of [hostAddressPorts(layout), hostPorts(layout)]) {
    transaction.addRule(chain('host-ports'), {
      expressions: [
        ...isFamily(layout),
        address(layout, 'destination'),
        { expr: 'meta', key: 'l4proto', to: words },
        { expr: 'payload', base: 'transport', offset: 2, length: 2, to: words + 1 },
        ...redirect(map),
      ],
    })
  }
}

const LOCAL = 2
const toHostPorts: readonly NftExpression[] = [
  { expr: 'fib-type', of: 'destination', to: 0 },
  { expr: 'compare', from: 0, op: 'eq', value: encodeValue('mark', LOCAL) },
  { expr: 'verdict', verdict: 'jump', chain: 'host-ports' },
]

const isIPv4Loopback = (offset: number): NftExpression[] => [
  ...isFamily(IPV4),
  { expr: 'payload', base: 'network', offset, length: 1, to: 0 },
  { expr: 'compare', from: 0, op: 'eq', value: Buffer.from([127]) },
]
