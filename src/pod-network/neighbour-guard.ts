/**
 * Keeps neighbours out: machines that route packets for pods, Services and nodes through this one. A machine that is a node
 * forwards packets, and would forward theirs too. The chain looks at packets as they come in, before any address is translated, so
 * it holds for what is forwarded and for what ends here, in every proxy mode, whatever rules others have. What comes to the
 * machine's own addresses (node ports, host ports, the API server) is not looked at, except for the ports named.
 */
import type { NftExpression } from '../linux/nft-expressions.ts'
import type { NftTransaction } from '../linux/nft-transaction.ts'
import { encodeValue } from '../linux/nft-values.ts'
import type { NftSet, NftTable } from '../linux/nftables.ts'
import type { Sources } from './forwarding-sources.ts'
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
} from './rules/match.ts'

export interface GuardPlan {
  /** Who may reach what is guarded. */
  readonly allowed: Sources
  /** CIDRs that others must not reach. */
  readonly guarded: readonly string[]
  /** Ports of this machine's own addresses that others must not reach. */
  readonly ports?: readonly GuardedPort[]
  /** Looks only at packets that come in by this interface, where those of pods cannot be told by theirs. */
  readonly foreignLink?: string
}

export interface GuardedPort {
  readonly protocol: 'TCP' | 'UDP'
  readonly port: number
}

const CHAIN = 'neighbours'
/** Before connection tracking: a flood of packets that are dropped leaves no trace. */
const PRIORITY = -300
const LOCAL = 2
const PROTOCOLS = { TCP: 6, UDP: 17 } as const

/** Adds the chain and its sets to a table that is there or made by the same transaction. */
export function addNeighbourGuard(transaction: NftTransaction, table: NftTable, plan: GuardPlan): void {
  const chain = { table, name: CHAIN }
  transaction.addChain({ ...chain, base: { type: 'filter', hook: 'prerouting', priority: PRIORITY } })
  const pass = (expressions: readonly NftExpression[]) =>
    transaction.addRule(chain, { expressions: [...expressions, { expr: 'verdict', verdict: 'return' }] })
  for (const name of ['lo', ...plan.allowed.links]) pass(onLink('iifname', name))
  if (plan.foreignLink !== undefined) pass(notOnLink(plan.foreignLink))
  for (const layout of table.family === 'ip' ? [IPV4] : [IPV4, IPV6]) {
    const friends = addRanges(transaction, table, layout, 'friends', plan.allowed.cidrs)
    if (friends) pass([...isFamily(layout), address(layout, 'source'), { expr: 'lookup', set: friends, from: 0 }])
    const guarded = addRanges(transaction, table, layout, 'guarded', plan.guarded)
    if (!guarded) continue
    transaction.addRule(chain, {
      comment: 'neighbours must not reach pods, Services and nodes',
      expressions: [
        ...isFamily(layout),
        address(layout, 'destination'),
        { expr: 'lookup', set: guarded, from: 0 },
        { expr: 'counter' },
        { expr: 'verdict', verdict: 'drop' },
      ],
    })
  }
  for (const port of plan.ports ?? []) transaction.addRule(chain, { expressions: dropPort(port) })
}

/** The name of the set; undefined if there is nothing for it in this family. */
function addRanges(
  transaction: NftTransaction,
  table: NftTable,
  layout: Layout,
  what: string,
  cidrs: readonly string[],
): string | undefined {
  const ranges = withoutContained(cidrs.map(strictCIDR).filter(isOf(layout)))
  if (ranges.length === 0) return undefined
  const set: NftSet = { table, name: `${layout.family}-${what}`, key: [layout.type], interval: true }
  transaction.addSet(set).addElements(set, ranges.map(rangeOf))
  return set.name
}

const notOnLink = (name: string): NftExpression[] => [
  { expr: 'meta', key: 'iifname', to: 0 },
  { expr: 'compare', from: 0, op: 'ne', value: encodeValue('ifname', name) },
]

const dropPort = ({ protocol, port }: GuardedPort): NftExpression[] => [
  { expr: 'fib-type', of: 'destination', to: 0 },
  { expr: 'compare', from: 0, op: 'eq', value: encodeValue('mark', LOCAL) },
  { expr: 'meta', key: 'l4proto', to: 0 },
  { expr: 'compare', from: 0, op: 'eq', value: Buffer.from([PROTOCOLS[protocol]]) },
  { expr: 'payload', base: 'transport', offset: 2, length: 2, to: 0 },
  { expr: 'compare', from: 0, op: 'eq', value: encodeValue('inet_service', port) },
  { expr: 'counter' },
  { expr: 'verdict', verdict: 'drop' },
]
