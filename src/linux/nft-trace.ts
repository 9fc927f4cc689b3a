/** The way of packets through the rules, for packets for which a rule set `meta nftrace` to 1. */
import type { NftFamily, NftVerdict } from './nft-expressions.ts'

export interface NftTrace extends Disposable {
  watch(listener: (step: TraceStep) => void): Disposable
}

export interface TraceStep {
  /** The same for all steps of a packet in one hook. */
  readonly id: number
  readonly family: NftFamily
  readonly table: string
  readonly chain: string
  /** A rule that matched, the end of a chain, or the policy of a base chain. */
  readonly at: 'rule' | 'return' | 'policy'
  /** Of the rule, as `Nftables.list` gives it. */
  readonly handle?: bigint
  readonly verdict?: NftVerdict
  /** Only in the first step of a table. */
  readonly packet?: TracedPacket
  readonly inputLink?: number
  readonly outputLink?: number
  readonly mark?: number
}

export interface TracedPacket {
  readonly source: string
  readonly destination: string
  readonly protocol: number
  readonly sourcePort?: number
  readonly destinationPort?: number
}
