import type { NftTransaction } from '../../linux/nft-transaction.ts'
import type { NftElement, NftSet } from '../../linux/nftables.ts'

interface Change {
  before: NftElement | undefined
  after: NftElement | undefined
}

/** What becomes of the elements of each set, first taken away and then put back: only the difference is written. */
export class ElementChanges {
  readonly #changes = new Map<NftSet, Map<string, Change>>()
  readonly #byName = new Map<string, NftSet>()
  readonly #shared: ReadonlyMap<NftSet, Map<string, number>>

  /** `shared` counts the users of elements that several may want. */
  constructor(shared: ReadonlyMap<NftSet, Map<string, number>>) {
    this.#shared = shared
  }

  remove(elements: readonly { readonly set: NftSet; readonly element: NftElement }[]): void {
    for (const { set, element } of elements) {
      const key = keyText(element)
      const change = this.#changeOf(set, key)
      const counts = this.#shared.get(set)
      if (!counts) {
        change.before = element
        continue
      }
      const count = counts.get(key)! - 1
      if (!change.before && !change.after) change.before = element
      if (count > 0) {
        counts.set(key, count)
        change.after = element
      } else {
        counts.delete(key)
        change.after = undefined
      }
    }
  }

  add(elements: readonly { readonly set: NftSet; readonly element: NftElement }[]): void {
    for (const { set, element } of elements) {
      const key = keyText(element)
      const change = this.#changeOf(set, key)
      const counts = this.#shared.get(set)
      if (counts) {
        const count = counts.get(key) ?? 0
        if (count > 0 && !change.before && !change.after) change.before = element
        counts.set(key, count + 1)
      }
      change.after = element
    }
  }

  /** All deletions before all additions. Elements of a set that goes away go with it. */
  append(transaction: NftTransaction, isGone: (set: NftSet) => boolean): void {
    const lists: { set: NftSet; gone: NftElement[]; added: NftElement[] }[] = []
    for (const [set, changes] of this.#changes) {
      const gone: NftElement[] = []
      const added: NftElement[] = []
      for (const { before, after } of changes.values()) {
        if (before && after && sameElement(before, after)) continue
        if (before) gone.push(before)
        if (after) added.push(after)
      }
      if (!isGone(set)) lists.push({ set, gone, added })
    }
    for (const { set, gone } of lists) transaction.deleteElements(set, gone)
    for (const { set, added } of lists) transaction.addElements(set, added)
  }

  #changeOf(set: NftSet, key: string): Change {
    const known = this.#byName.get(set.name) ?? set
    let changes = this.#changes.get(known)
    if (!changes) {
      this.#byName.set(set.name, set)
      changes = new Map()
      this.#changes.set(set, changes)
    }
    let change = changes.get(key)
    if (!change) {
      change = { before: undefined, after: undefined }
      changes.set(key, change)
    }
    return change
  }
}

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')

/** Ranges are told apart by both ends. */
export const keyText = ({ key, keyEnd }: NftElement) =>
  keyEnd && Buffer.compare(key, keyEnd) !== 0 ? `${latin1(key)}-${latin1(keyEnd)}` : latin1(key)

/** The comment does not count. */
export function sameElement(a: NftElement, b: NftElement): boolean {
  if (a.data || b.data) return a.data !== undefined && b.data !== undefined && Buffer.compare(a.data, b.data) === 0
  if (a.verdict?.verdict !== b.verdict?.verdict) return false
  return chainOf(a) === chainOf(b)
}

const chainOf = ({ verdict }: NftElement) => (verdict && 'chain' in verdict ? verdict.chain : undefined)
