import type { NftExpression } from './nft-expressions.ts'
import { forward, postrouting, services, sourceAddress } from './nft-layout.contract.ts'
import { encodeValue } from './nft-values.ts'
import type { NftChain } from './nftables.ts'

/** Every expression, in rules that a packet could pass. */
export const RULES: [string, NftChain, NftExpression[]][] = [
  [
    'mark',
    services,
    [
      { expr: 'meta', key: 'mark', to: 0 },
      { expr: 'bitwise', from: 0, to: 0, mask: Buffer.from('ffbfffff', 'hex'), xor: Buffer.from('00400000', 'hex') },
      { expr: 'meta-set', key: 'mark', from: 0 },
    ],
  ],
  ['masquerade', postrouting, [{ expr: 'masquerade', fullyRandom: true }]],
  ['plain masquerade', postrouting, [{ expr: 'masquerade' }]],
  [
    'source NAT',
    postrouting,
    [
      { expr: 'immediate', to: 0, value: encodeValue('ipv4_addr', '192.0.2.1') },
      { expr: 'nat', type: 'source', family: 'ip', address: 0 },
    ],
  ],
  [
    'established',
    forward,
    [
      { expr: 'ct', key: 'state', to: 0 },
      { expr: 'bitwise', from: 0, to: 0, mask: encodeValue('mark', 6), xor: encodeValue('mark', 0) },
      { expr: 'compare', from: 0, op: 'ne', value: encodeValue('mark', 0) },
      { expr: 'counter', packets: 0, bytes: 0 },
      { expr: 'verdict', verdict: 'accept' },
    ],
  ],
  [
    'local',
    forward,
    [
      { expr: 'fib-type', of: 'destination', to: 0 },
      { expr: 'compare', from: 0, op: 'eq', value: encodeValue('mark', 2) },
      { expr: 'reject', reason: 'port-unreachable' },
    ],
  ],
  [
    'reset',
    forward,
    [
      { expr: 'meta', key: 'l4proto', to: 0 },
      { expr: 'compare', from: 0, op: 'eq', value: Buffer.from([6]) },
      { expr: 'reject', reason: 'tcp-reset' },
    ],
  ],
  ['affinity', forward, [sourceAddress, { expr: 'set-update', op: 'update', set: 'clients', key: 0, timeoutMs: 5000 }]],
  [
    'ranges',
    forward,
    [
      sourceAddress,
      { expr: 'lookup', set: 'ranges', from: 0, inverted: true },
      { expr: 'limit', rate: 5, per: 'second', burst: 5 },
      { expr: 'log', prefix: 'denied ', group: 3 },
      { expr: 'verdict', verdict: 'drop' },
    ],
  ],
  [
    'interface',
    forward,
    [
      { expr: 'meta', key: 'iifname', to: 0 },
      { expr: 'compare', from: 0, op: 'ne', value: encodeValue('ifname', 'cni0') },
      { expr: 'verdict', verdict: 'return' },
    ],
  ],
  [
    'trace',
    forward,
    [
      { expr: 'immediate', to: 0, value: Buffer.from([1]) },
      { expr: 'meta-set', key: 'nftrace', from: 0 },
    ],
  ],
]
