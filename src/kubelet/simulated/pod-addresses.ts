import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { type CIDR, cidrContains, formatIP, parseCIDR, parseIP } from '../../base/ip-address.ts'

/** A node with no range of its own uses this one, at a place that its index gives. */
const FALLBACK = parseCIDR('10.244.0.0/16')!
const FALLBACK_NODES = 256n

/** Hands out the addresses of one node's ranges; the next free one after the last given, as host-local does. */
export class PodAddresses {
  readonly #ranges: readonly Range[]

  constructor(cidrs: readonly CIDR[]) {
    this.#ranges = cidrs.map((cidr) => new Range(cidr))
  }

  static ofNode(node: Node, index: number): PodAddresses {
    const cidrs = (node.spec?.podCIDRs ?? []).flatMap((text) => parseCIDR(text) ?? [])
    return new PodAddresses(cidrs.length > 0 ? cidrs : [fallbackRange(index)])
  }

  /** One address per family; none if a family has none left. */
  take(): string[] {
    const taken = this.#ranges.map((range) => range.take())
    if (taken.every((ip) => ip !== undefined)) return taken
    for (const [i, ip] of taken.entries()) if (ip !== undefined) this.#ranges[i]!.release(ip)
    return []
  }

  hold(pod: Pod): void {
    for (const { ip } of pod.status?.podIPs ?? []) for (const range of this.#ranges) range.hold(ip)
  }

  release(pod: Pod): void {
    for (const { ip } of pod.status?.podIPs ?? []) for (const range of this.#ranges) range.release(ip)
  }
}

function fallbackRange(index: number): CIDR {
  const first = FALLBACK.first + (BigInt(index) % FALLBACK_NODES) * 256n
  return { family: 'IPv4', address: first, first, last: first + 255n, prefixLength: 24 }
}

/** The network address and the gateway, the first one, are nobody's; nor is the broadcast address. */
class Range {
  readonly #cidr: CIDR
  readonly #size: number
  readonly #used = new Set<number>()
  #next = 0

  constructor(cidr: CIDR) {
    this.#cidr = cidr
    const all = cidr.last - cidr.first + 1n - 3n
    this.#size = Math.max(0, Number(all > 1_000_000n ? 1_000_000n : all))
  }

  take(): string | undefined {
    if (this.#used.size >= this.#size) return undefined
    while (this.#used.has(this.#next)) this.#next = (this.#next + 1) % this.#size
    const offset = this.#next
    this.#used.add(offset)
    this.#next = (offset + 1) % this.#size
    return formatIP({ family: this.#cidr.family, value: this.#cidr.first + 2n + BigInt(offset) })
  }

  hold(ip: string): void {
    const offset = this.#offsetOf(ip)
    if (offset !== undefined) this.#used.add(offset)
  }

  release(ip: string): void {
    const offset = this.#offsetOf(ip)
    if (offset !== undefined) this.#used.delete(offset)
  }

  #offsetOf(ip: string): number | undefined {
    const address = parseIP(ip)
    if (!address || !cidrContains(this.#cidr, address)) return undefined
    return Number(address.value - this.#cidr.first - 2n)
  }
}
