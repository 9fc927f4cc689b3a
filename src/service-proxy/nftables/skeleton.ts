/** What stands in the table before the first Service: base chains, the chains they enter, sets, and what the node adds. */
import type { NftExpression } from '../../linux/nft-expressions.ts'
import { encodeValue } from '../../linux/nft-values.ts'
import type { NftBaseChain, NftElement, NftRule, NftSet } from '../../linux/nftables.ts'
import type { ProxyNode } from '../backend.ts'
import { PROTOCOL_NUMBERS } from '../service-port.ts'
import { type AddressRange, addressText, rangesOf, withoutLoopback } from './address-ranges.ts'
import {
  DROP,
  destination,
  frontendKey,
  goto,
  isLocalAddress,
  isNewConnection,
  isRedirected,
  jump,
  type Layout,
  MASQUERADE,
  nodePortKey,
  rule,
  source,
} from './layout.ts'

export interface RenderedChain {
  readonly name: string
  readonly base?: NftBaseChain
  readonly rules: readonly NftRule[]
  /** Belongs to one port, so that its rules change with it; the rules of all others follow from their names. */
  readonly isOwn?: boolean
  /**
   * For a chain of ports of one size: those of the sizes next to it, made as soon as it is used. All of these are left in
   * place when their last port goes: such sizes come again, and a new chain takes the kernel long.
   */
  readonly neighbours?: () => readonly RenderedChain[]
}

/** An element and the set it belongs to. */
export interface RenderedElement {
  readonly set: NftSet
  readonly element: NftElement
}

export interface Rendered {
  readonly sets: readonly NftSet[]
  readonly chains: readonly RenderedChain[]
  readonly elements: readonly RenderedElement[]
}

export const MARK_CHAIN = 'mark-for-masquerade'
export const REJECT_CHAIN = 'reject-chain'
/** Filters that must see the address the client used run before it is changed. */
const BEFORE_DNAT = -110
const DNAT = -100
/** A port without endpoints may be dropped where one that no Service has is rejected. */
const BEFORE_FILTER = -1
const FILTER = 0
const SNAT = 100

export function renderSkeleton(layout: Layout, node: ProxyNode): Rendered {
  return {
    sets: Object.values(layout.sets),
    chains: [...innerChains(layout, node), ...baseChains(layout)],
    elements: nodeElements(layout, node),
  }
}

const base = (
  name: string,
  type: NftBaseChain['type'],
  hook: NftBaseChain['hook'],
  priority: number,
  rules: readonly NftRule[],
): RenderedChain => ({ name, base: { type, hook, priority, policy: 'accept' }, rules })

const ifNew = (chain: string) => rule([...isNewConnection, jump(chain)])

const toItself = (layout: Layout): NftExpression[] => [
  source(layout),
  destination(layout, layout.words),
  { expr: 'lookup', set: 'hairpin', from: 0 },
]

function baseChains(layout: Layout): RenderedChain[] {
  return [
    base('filter-forward', 'filter', 'forward', FILTER, [ifNew('cluster-ips-check')]),
    base('filter-output', 'filter', 'output', FILTER, [ifNew('cluster-ips-check')]),
    base('nat-prerouting', 'nat', 'prerouting', DNAT, [rule([jump('services')])]),
    base('nat-output', 'nat', 'output', DNAT, [rule([jump('services')])]),
    base('nat-postrouting', 'nat', 'postrouting', SNAT, [
      rule([...isRedirected, ...toItself(layout), MASQUERADE], 'a pod that reaches itself'),
      rule([jump('masquerading')]),
    ]),
  ]
}

/** Every packet passes every base chain, so those that few Services need stand there only while one of these does. */
export const FIREWALL_CHAINS: readonly RenderedChain[] = [
  base('filter-prerouting', 'filter', 'prerouting', BEFORE_DNAT, [ifNew('firewall-check')]),
  base('filter-output-pre-dnat', 'filter', 'output', BEFORE_DNAT, [ifNew('firewall-check')]),
]

export const NO_ENDPOINT_CHAINS: readonly RenderedChain[] = [
  base('no-endpoints-input', 'filter', 'input', BEFORE_FILTER, [
    ifNew('nodeport-endpoints-check'),
    ifNew('endpoints-check'),
  ]),
  base('no-endpoints-forward', 'filter', 'forward', BEFORE_FILTER, [ifNew('endpoints-check')]),
  base('no-endpoints-output', 'filter', 'output', BEFORE_FILTER, [ifNew('endpoints-check')]),
]

function innerChains(layout: Layout, node: ProxyNode): RenderedChain[] {
  const toNodePort = [destination(layout), { expr: 'lookup', set: 'nodeport-ips', from: 0 } as const]
  if (node.nodePortAddresses !== 'primary') toNodePort.push(...(isLocalAddress('destination') as never[]))
  return [
    ...markChains(node.masqueradeBit),
    rejectChain,
    {
      name: 'services',
      rules: [
        rule([...frontendKey(layout), { expr: 'verdict-map', set: 'services', from: 0 }]),
        rule([...toNodePort, ...nodePortKey(), { expr: 'verdict-map', set: 'nodeports', from: 0 }]),
      ],
    },
    {
      name: 'endpoints-check',
      rules: [rule([...frontendKey(layout), { expr: 'verdict-map', set: 'no-endpoint-services', from: 0 }])],
    },
    {
      name: 'nodeport-endpoints-check',
      rules: [rule([...toNodePort, ...nodePortKey(), { expr: 'verdict-map', set: 'no-endpoint-nodeports', from: 0 }])],
    },
    {
      name: 'cluster-ips-check',
      rules: [
        rule(
          [destination(layout), { expr: 'lookup', set: 'cluster-ips', from: 0 }, goto(REJECT_CHAIN)],
          'not a port of the Service',
        ),
        rule([destination(layout), { expr: 'lookup', set: 'service-cidrs', from: 0 }, DROP], 'no Service has this IP'),
      ],
    },
    {
      name: 'firewall-check',
      rules: [
        rule([
          ...frontendKey(layout),
          { expr: 'lookup', set: 'firewall', from: 0 },
          ...frontendKey(layout),
          source(layout, layout.words + 2),
          { expr: 'lookup', set: 'firewall-sources', from: 0, inverted: true },
          DROP,
        ]),
      ],
    },
  ]
}

/** A reset ends a TCP handshake at once; an ICMP error that comes while the client still sends would be overheard. */
const rejectChain: RenderedChain = {
  name: REJECT_CHAIN,
  rules: [
    rule([
      { expr: 'meta', key: 'l4proto', to: 0 },
      { expr: 'compare', from: 0, op: 'eq', value: encodeValue('inet_proto', PROTOCOL_NUMBERS.TCP) },
      { expr: 'reject', reason: 'tcp-reset' },
    ]),
    rule([{ expr: 'reject', reason: 'port-unreachable' }]),
  ],
}

/** Who is to be masqueraded is known when the endpoint is chosen, but it is done on the way out: a bit remembers. */
function markChains(masqueradeBit: number): RenderedChain[] {
  const bit = 2 ** masqueradeBit
  const mark = { expr: 'meta', key: 'mark', to: 0 } as const
  const mask = (value: number) => encodeValue('mark', value >>> 0)
  return [
    {
      name: MARK_CHAIN,
      rules: [
        rule([
          mark,
          { expr: 'bitwise', from: 0, to: 0, mask: mask(~bit), xor: mask(bit) },
          { expr: 'meta-set', key: 'mark', from: 0 },
        ]),
      ],
    },
    {
      name: 'masquerading',
      rules: [
        rule([
          mark,
          { expr: 'bitwise', from: 0, to: 0, mask: mask(bit), xor: mask(0) },
          { expr: 'compare', from: 0, op: 'eq', value: mask(0) },
          { expr: 'verdict', verdict: 'return' },
        ]),
        rule([
          mark,
          { expr: 'bitwise', from: 0, to: 0, mask: mask(~0), xor: mask(bit) },
          { expr: 'meta-set', key: 'mark', from: 0 },
        ]),
        rule([MASQUERADE]),
      ],
    },
  ]
}

function nodeElements(layout: Layout, node: ProxyNode): RenderedElement[] {
  const { family, sets } = layout
  const { localDetector, nodePortAddresses, nodeIPs } = node
  const primary = nodeIPs.filter((ip) => ip.includes(':') === (family === 'IPv6')).slice(0, 1)
  const nodePortRanges =
    nodePortAddresses === 'primary'
      ? rangesOf(primary, family)
      : withoutLoopback(rangesOf(nodePortAddresses, family), family)
  return [
    ...rangeElements(layout, sets['nodeport-ips'], nodePortRanges),
    ...rangeElements(layout, sets['service-cidrs'], rangesOf(node.serviceCIDRs, family)),
    ...rangeElements(
      layout,
      sets['pod-cidrs'],
      localDetector.by === 'cidr' ? rangesOf(localDetector.cidrs, family) : [],
    ),
  ]
}

const rangeElements = ({ address, family }: Layout, set: NftSet, ranges: readonly AddressRange[]): RenderedElement[] =>
  ranges.map(({ first, last }) => {
    const key = encodeValue(address, addressText(first, family))
    const keyEnd = last === first ? {} : { keyEnd: encodeValue(address, addressText(last, family)) }
    return { set, element: { key, ...keyEnd } }
  })
