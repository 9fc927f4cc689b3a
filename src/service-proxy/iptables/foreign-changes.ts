import type { Linux } from '../../linux/linux.ts'
import type { NetworkNamespace } from '../../linux/network-namespace.ts'
import type { Nftables } from '../../linux/nftables.ts'

/**
 * Tells when others commit to the kernel's nftables, where iptables-nft has its rules too. What is committed while our own
 * commands run passes for our own: comparing now and then finds it.
 */
export class ForeignChanges implements Disposable {
  readonly #listeners = new Set<() => void>()
  readonly #nftables: Nftables | undefined
  readonly #watch: Disposable | undefined
  #isOurs = false
  #seen = 0
  #known = 0

  constructor(linux: Linux, namespace: NetworkNamespace | undefined) {
    try {
      this.#nftables = linux.openNftables(namespace)
      this.#watch = this.#nftables.watch(({ generation }) => this.#noticed(generation))
    } catch {
      // A kernel without nftables: its legacy tables tell nobody.
    }
  }

  /** Our own commands. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#isOurs = true
    try {
      return await work()
    } finally {
      this.#isOurs = false
      this.#known = this.#nftables?.generation() ?? 0
      if (this.#seen > this.#known) this.#tell()
    }
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  [Symbol.dispose](): void {
    this.#watch?.[Symbol.dispose]()
    this.#nftables?.[Symbol.dispose]()
  }

  #noticed(generation: number): void {
    this.#seen = generation
    if (!this.#isOurs && generation > this.#known) this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
