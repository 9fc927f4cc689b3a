import type { NftChain, NftElement, NftRule, NftSet, NftTable } from './nftables.ts'

export type NftOperation =
  | { readonly op: 'add-table' | 'delete-table'; readonly table: NftTable }
  | { readonly op: 'add-chain' | 'delete-chain' | 'flush-chain'; readonly chain: NftChain }
  | { readonly op: 'add-rule' | 'insert-rule'; readonly chain: NftChain; readonly rule: NftRule }
  | { readonly op: 'delete-rule'; readonly chain: NftChain; readonly handle: bigint }
  | { readonly op: 'add-set' | 'delete-set' | 'flush-set'; readonly set: NftSet }
  | { readonly op: 'add-elements' | 'delete-elements'; readonly set: NftSet; readonly elements: readonly NftElement[] }

/** What is to be changed, in order. Plain data: the kernel's encoder and the fake read the same. */
export class NftTransaction {
  readonly operations: NftOperation[] = []

  /** No error if it is there already. */
  addTable(table: NftTable): this {
    return this.push({ op: 'add-table', table })
  }

  deleteTable(table: NftTable): this {
    return this.push({ op: 'delete-table', table })
  }

  /** Gone afterwards, whether it was there or not. */
  destroyTable(table: NftTable): this {
    return this.addTable(table).deleteTable(table)
  }

  addChain(chain: NftChain): this {
    return this.push({ op: 'add-chain', chain })
  }

  /** With its rules; refused with EBUSY while something leads to it. */
  deleteChain(chain: NftChain): this {
    return this.push({ op: 'delete-chain', chain })
  }

  flushChain(chain: NftChain): this {
    return this.push({ op: 'flush-chain', chain })
  }

  /** At the end of the chain. */
  addRule(chain: NftChain, rule: NftRule): this {
    return this.push({ op: 'add-rule', chain, rule })
  }

  /** At the beginning of the chain. */
  insertRule(chain: NftChain, rule: NftRule): this {
    return this.push({ op: 'insert-rule', chain, rule })
  }

  deleteRule(chain: NftChain, handle: bigint): this {
    return this.push({ op: 'delete-rule', chain, handle })
  }

  addSet(set: NftSet): this {
    return this.push({ op: 'add-set', set })
  }

  /** With its elements; refused with EBUSY while a rule uses it. */
  deleteSet(set: NftSet): this {
    return this.push({ op: 'delete-set', set })
  }

  flushSet(set: NftSet): this {
    return this.push({ op: 'flush-set', set })
  }

  /** An element that is there with the same data is no error; with other data it is EEXIST: delete it before. */
  addElements(set: NftSet, elements: readonly NftElement[]): this {
    return elements.length > 0 ? this.push({ op: 'add-elements', set, elements }) : this
  }

  deleteElements(set: NftSet, elements: readonly NftElement[]): this {
    return elements.length > 0 ? this.push({ op: 'delete-elements', set, elements }) : this
  }

  /** For an error: `add-rule services`. */
  describe(index: number): string {
    const operation = this.operations[index]
    if (!operation) return 'nftables transaction'
    const object = 'table' in operation ? operation.table : 'chain' in operation ? operation.chain : operation.set
    return `${operation.op} ${object.name}`
  }

  private push(operation: NftOperation): this {
    this.operations.push(operation)
    return this
  }
}
