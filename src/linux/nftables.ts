/**
 * The packet filter of one network namespace. It is changed by transactions only: all of one applies, or nothing. The
 * order inside counts, as in a file for `nft -f`: what is referred to must stand before.
 */
import type { NftExpression, NftFamily, NftVerdict } from './nft-expressions.ts'
import type { NftTransaction } from './nft-transaction.ts'
import type { NftType } from './nft-values.ts'
import { LinuxError } from './system-error.ts'

export interface Nftables extends Disposable {
  /** Grows with every transaction, whoever makes it. */
  generation(): number
  /**
   * Throws `NftError` if the kernel refuses it. With `generation`, it is refused with ERESTART when someone else changed
   * the rules since.
   */
  commit(transaction: NftTransaction, options?: { readonly generation?: number }): Promise<void>
  tables(): NftTable[]
  /** What a table has, without the elements of its sets; undefined if there is no such table. */
  list(table: NftTable): NftTableContents | undefined
  elements(set: NftSet): NftElement[]
  /** Told of every transaction in the namespace, our own too, until disposed. */
  watch(listener: (change: NftGeneration) => void): Disposable
}

export interface NftTable {
  readonly family: NftFamily
  readonly name: string
}

export const NFT_HOOKS = { prerouting: 0, input: 1, forward: 2, output: 3, postrouting: 4 } as const

export interface NftBaseChain {
  readonly type: 'filter' | 'nat' | 'route'
  readonly hook: keyof typeof NFT_HOOKS
  readonly priority: number
  readonly policy?: 'accept' | 'drop'
}

export interface NftChain {
  readonly table: NftTable
  readonly name: string
  /** Of a chain that the kernel enters by itself. */
  readonly base?: NftBaseChain
}

export interface NftRule {
  readonly expressions: readonly NftExpression[]
  readonly comment?: string
}

export interface ListedRule extends NftRule {
  readonly chain: string
  /** The kernel's own name for the rule, by which it is deleted. */
  readonly handle: bigint
}

/** A set, or with `data` a map. */
export interface NftSet {
  readonly table: NftTable
  readonly name: string
  readonly key: readonly NftType[]
  readonly data?: readonly NftType[] | 'verdict'
  /** Elements may be ranges. */
  readonly interval?: boolean
  /** Packets may change it (`set-update`). */
  readonly dynamic?: boolean
  /** Elements live so long unless they say otherwise. */
  readonly timeoutMs?: number
  readonly size?: number
  readonly comment?: string
}

export interface NftElement {
  readonly key: Uint8Array
  /** The last one of a range, inclusive. */
  readonly keyEnd?: Uint8Array
  readonly data?: Uint8Array
  readonly verdict?: NftVerdict
  readonly timeoutMs?: number
  readonly comment?: string
}

export interface NftTableContents {
  readonly chains: readonly NftChain[]
  readonly sets: readonly NftSet[]
  /** In the order in which packets meet them, chain by chain. */
  readonly rules: readonly ListedRule[]
}

export interface NftGeneration {
  readonly generation: number
  readonly processId?: number
  readonly processName?: string
}

export interface NftFailure {
  /** The place of the operation in the transaction; undefined if the transaction as a whole was refused. */
  readonly operation?: number
  readonly errno: number
  readonly text?: string
}

/** A refused transaction: nothing of it was applied. */
export class NftError extends LinuxError {
  override readonly name = 'NftError'
  readonly failures: readonly NftFailure[]

  constructor(failures: readonly NftFailure[], describe: (operation: number) => string) {
    const [first] = failures as [NftFailure]
    const what = first.operation === undefined ? 'nftables transaction' : describe(first.operation)
    super(first.errno, what, first.text)
    this.failures = failures
  }
}
