import { type CIDR, cidrContains, formatIP, type IPAddress, parseCIDR, parseIP } from '../../base/ip-address.ts'

/**
 * The addresses of one CIDR. They are handed out one after the other and not from the beginning again, so that an address
 * rests for as long as possible before another pod has it. Never given: the network itself, the first (the gateway's),
 * and the broadcast address of IPv4.
 */
export class AddressPool {
  readonly cidr: CIDR
  readonly gateway: string
  readonly #used = new Set<bigint>()
  readonly #first: bigint
  readonly #last: bigint
  #next: bigint

  constructor(text: string) {
    const cidr = parseCIDR(text)
    if (!cidr) throw new Error(`${text} is no CIDR`)
    this.cidr = cidr
    this.#first = cidr.first + 2n
    this.#last = cidr.family === 'IPv4' ? cidr.last - 1n : cidr.last
    if (this.#last < this.#first) throw new Error(`${text} has no room for pods`)
    this.gateway = formatIP({ family: cidr.family, value: cidr.first + 1n })
    this.#next = this.#first
  }

  get used(): number {
    return this.#used.size
  }

  /** Undefined when every address is in use. */
  allocate(): string | undefined {
    if (BigInt(this.#used.size) > this.#last - this.#first) return undefined
    while (this.#used.has(this.#next)) this.#next = this.#after(this.#next)
    const value = this.#next
    this.#used.add(value)
    this.#next = this.#after(value)
    return formatIP({ family: this.cidr.family, value })
  }

  /** Marks an address that someone has already. False if it is not of this pool. */
  take(address: string): boolean {
    const ip = this.#own(address)
    if (!ip) return false
    this.#used.add(ip.value)
    if (ip.value >= this.#next) this.#next = this.#after(ip.value)
    return true
  }

  release(address: string): void {
    const ip = this.#own(address)
    if (ip) this.#used.delete(ip.value)
  }

  #own(address: string): IPAddress | undefined {
    const ip = parseIP(address)
    return ip && cidrContains(this.cidr, ip) ? ip : undefined
  }

  #after(value: bigint): bigint {
    return value >= this.#last ? this.#first : value + 1n
  }
}
