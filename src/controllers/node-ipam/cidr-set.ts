import { addressBits, type CIDR, cidrOf, cidrsOverlap, formatCIDR, parseCIDR } from '../../base/ip-address.ts'

/** The ranges of one size inside a bigger one, taken in order. */
export class CidrSet {
  readonly #cluster: CIDR
  readonly #hostBits: bigint
  readonly #size: number
  readonly #prefixLength: number
  /** How many holders each range has: nodes may have been given overlapping ones by hand. */
  readonly #used = new Map<number, number>()
  #next = 0

  constructor(cluster: CIDR, prefixLength: number) {
    this.#cluster = cluster
    this.#prefixLength = prefixLength
    this.#hostBits = BigInt(addressBits(cluster.family) - prefixLength)
    this.#size = 2 ** Math.min(prefixLength - cluster.prefixLength, 31)
  }

  /** Undefined when all are taken. */
  take(): string | undefined {
    if (this.#used.size >= this.#size) return undefined
    while (this.#used.has(this.#next)) this.#next = (this.#next + 1) % this.#size
    const index = this.#next
    this.#used.set(index, 1)
    this.#next = (index + 1) % this.#size
    const value = this.#cluster.first + (BigInt(index) << this.#hostBits)
    return formatCIDR(cidrOf({ family: this.#cluster.family, value }, this.#prefixLength))
  }

  hold(text: string): void {
    for (const index of this.#indexesOf(text)) this.#used.set(index, (this.#used.get(index) ?? 0) + 1)
  }

  release(text: string): void {
    for (const index of this.#indexesOf(text)) {
      const holders = (this.#used.get(index) ?? 0) - 1
      if (holders > 0) this.#used.set(index, holders)
      else this.#used.delete(index)
    }
  }

  *#indexesOf(text: string): Generator<number> {
    const cidr = parseCIDR(text)
    if (!cidr || !cidrsOverlap(cidr, this.#cluster)) return
    const indexOf = (address: bigint) => Number((address - this.#cluster.first) >> this.#hostBits)
    const from = Math.max(indexOf(cidr.first), 0)
    const to = Math.min(indexOf(cidr.last), this.#size - 1)
    for (let index = from; index <= to; index++) yield index
  }
}
