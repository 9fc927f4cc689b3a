import type { NftVerdict } from '../nft-expressions.ts'
import type { ListedRule, NftBaseChain, NftElement, NftSet, NftTable } from '../nftables.ts'

export interface FakeRule extends ListedRule {}

export interface FakeChain {
  readonly name: string
  readonly base?: NftBaseChain
  rules: FakeRule[]
  /** How many rules and elements lead here. */
  uses: number
}

export interface FakeSet {
  readonly set: NftSet
  readonly elements: Map<string, NftElement>
  /** How many rules use it. */
  uses: number
  /** The chains that its verdicts lead to, and how many do. */
  readonly targets: Map<string, number>
}

export class FakeTable {
  readonly table: NftTable
  readonly chains = new Map<string, FakeChain>()
  readonly sets = new Map<string, FakeSet>()

  constructor(table: NftTable) {
    this.table = table
  }
}

export const tableKey = (table: NftTable) => `${table.family} ${table.name}`
export const keyText = (key: Uint8Array) => Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
export const targetOf = (verdict: NftVerdict | undefined) => (verdict && 'chain' in verdict ? verdict.chain : undefined)

/** Changes that can be taken back: a transaction applies as a whole or leaves nothing. */
export class UndoLog {
  private readonly steps: (() => void)[] = []

  get isEmpty(): boolean {
    return this.steps.length === 0
  }

  push(step: () => void): void {
    this.steps.push(step)
  }

  set<K, V>(map: Map<K, V>, key: K, value: V): void {
    const had = map.has(key)
    const old = map.get(key)
    map.set(key, value)
    this.push(() => {
      if (had) map.set(key, old as V)
      else map.delete(key)
    })
  }

  delete<K, V>(map: Map<K, V>, key: K): void {
    if (!map.has(key)) return
    const old = [...map]
    map.delete(key)
    this.push(() => {
      map.clear()
      for (const [oldKey, value] of old) map.set(oldKey, value)
    })
  }

  count(counted: { uses: number }, by: number): void {
    counted.uses += by
    this.push(() => {
      counted.uses -= by
    })
  }

  rules(chain: FakeChain, rules: FakeRule[]): void {
    const old = chain.rules
    chain.rules = rules
    this.push(() => {
      chain.rules = old
    })
  }

  undo(): void {
    for (const step of this.steps.reverse()) step()
  }
}
