/**
 * A rule is a list of expressions that work on sixteen registers of four bytes (an IPv6 address takes four of them), as
 * the kernel's own machine does. They are plain data: what renders rules, what traces packets through them and what
 * writes them into the kernel share it.
 */
export type NftFamily = 'ip' | 'ip6' | 'inet'

/** 0 to 15. */
export type NftRegister = number

export type NftVerdict =
  | { readonly verdict: 'accept' | 'drop' | 'continue' | 'return' }
  | { readonly verdict: 'jump' | 'goto'; readonly chain: string }

export const META_KEYS = {
  protocol: 1,
  mark: 3,
  iif: 4,
  oif: 5,
  iifname: 6,
  oifname: 7,
  nftrace: 12,
  nfproto: 15,
  l4proto: 16,
  pkttype: 19,
} as const
export const CT_KEYS = { state: 0, direction: 1, status: 2, mark: 3, zone: 17, 'proto-dst': 12 } as const
export const COMPARISONS = { eq: 0, ne: 1, lt: 2, lte: 3, gt: 4, gte: 5 } as const
export const PAYLOAD_BASES = { link: 0, network: 1, transport: 2 } as const
export const LIMIT_UNITS = { second: 1, minute: 60, hour: 3600 } as const

/** What the other side is told. `port-unreachable` speaks ICMP or ICMPv6, as the packet does. */
export type NftRejectReason = 'tcp-reset' | 'no-route' | 'port-unreachable' | 'host-unreachable' | 'admin-prohibited'

export type NftExpression =
  | {
      readonly expr: 'payload'
      readonly base: keyof typeof PAYLOAD_BASES
      readonly offset: number
      readonly length: number
      readonly to: NftRegister
    }
  | { readonly expr: 'meta'; readonly key: keyof typeof META_KEYS; readonly to: NftRegister }
  | { readonly expr: 'meta-set'; readonly key: keyof typeof META_KEYS; readonly from: NftRegister }
  | { readonly expr: 'ct'; readonly key: keyof typeof CT_KEYS; readonly to: NftRegister; readonly reply?: boolean }
  | { readonly expr: 'ct-set'; readonly key: 'mark' | 'zone'; readonly from: NftRegister }
  /** The type of an address in the routing table: local is 2. */
  | { readonly expr: 'fib-type'; readonly of: 'source' | 'destination'; readonly to: NftRegister }
  | {
      readonly expr: 'compare'
      readonly from: NftRegister
      readonly op: keyof typeof COMPARISONS
      readonly value: Uint8Array
    }
  | {
      readonly expr: 'bitwise'
      readonly from: NftRegister
      readonly to: NftRegister
      readonly mask: Uint8Array
      readonly xor: Uint8Array
    }
  | { readonly expr: 'immediate'; readonly to: NftRegister; readonly value: Uint8Array }
  | ({ readonly expr: 'verdict' } & NftVerdict)
  /** Goes on if the key is in the set (or, inverted, if it is not). */
  | { readonly expr: 'lookup'; readonly set: string; readonly from: NftRegister; readonly inverted?: boolean }
  /** Goes on with the data of the key if the map has it. */
  | { readonly expr: 'map'; readonly set: string; readonly from: NftRegister; readonly to: NftRegister }
  | { readonly expr: 'verdict-map'; readonly set: string; readonly from: NftRegister }
  | {
      readonly expr: 'number'
      readonly mode: 'random' | 'incremental'
      readonly modulus: number
      readonly offset?: number
      readonly to: NftRegister
    }
  | {
      readonly expr: 'hash'
      readonly from: NftRegister
      readonly length: number
      readonly modulus: number
      readonly seed?: number
      readonly to: NftRegister
    }
  | {
      readonly expr: 'nat'
      readonly type: 'source' | 'destination'
      readonly family: 'ip' | 'ip6'
      readonly address: NftRegister
      readonly port?: NftRegister
    }
  | { readonly expr: 'masquerade'; readonly fullyRandom?: boolean }
  | { readonly expr: 'redirect'; readonly port?: NftRegister }
  | { readonly expr: 'reject'; readonly reason: NftRejectReason }
  | { readonly expr: 'counter'; readonly packets?: number; readonly bytes?: number }
  /** Puts the packet's own key (and data) into a set. */
  | {
      readonly expr: 'set-update'
      readonly op: 'add' | 'update' | 'delete'
      readonly set: string
      readonly key: NftRegister
      readonly data?: NftRegister
      readonly timeoutMs?: number
    }
  | {
      readonly expr: 'limit'
      readonly rate: number
      readonly per: keyof typeof LIMIT_UNITS
      readonly burst: number
      readonly over?: boolean
    }
  | { readonly expr: 'log'; readonly prefix?: string; readonly group?: number }
  | { readonly expr: 'notrack' }
  /** Written by someone else: read, never written. */
  | { readonly expr: 'unknown'; readonly name: string }

/** The names of the sets that an expression needs. */
export const setUsedBy = (expression: NftExpression) => ('set' in expression ? expression.set : undefined)

/** The chain that an expression leads to. */
export const chainUsedBy = (expression: NftExpression) =>
  expression.expr === 'verdict' && 'chain' in expression ? expression.chain : undefined
