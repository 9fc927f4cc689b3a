import {
  type CIDR,
  cidrContains,
  type IPAddress,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseCIDR,
  parseIP,
} from '../../base/ip-address.ts'

/** Groups of addresses that change together. */
export type ReservedGroup = 'a node' | 'the API server'

/**
 * Addresses that a Service must not get by naming them as external IP or load-balancer IP: a user who may write Services would
 * receive what nodes, pods and the API server send to each other.
 */
export class ReservedAddresses {
  readonly #addresses = new Map<ReservedGroup, ReadonlySet<string>>()
  #ranges: readonly { readonly cidr: CIDR; readonly what: string }[] = []

  /** True if something is different now. Addresses are canonical. */
  setAddresses(group: ReservedGroup, addresses: Iterable<string>): boolean {
    const next = new Set(addresses)
    const known = this.#addresses.get(group)
    if (known?.size === next.size && [...next].every((ip) => known.has(ip))) return false
    this.#addresses.set(group, next)
    return known !== undefined || next.size > 0
  }

  setRanges(ranges: Readonly<Record<string, readonly string[]>>): void {
    this.#ranges = Object.entries(ranges).flatMap(([what, cidrs]) =>
      cidrs.flatMap((text) => {
        const cidr = parseCIDR(text)
        return cidr ? [{ cidr, what }] : []
      }),
    )
  }

  /** Why a Service does not get it: `is an address of a node`. Undefined if it may. */
  reason(address: string): string | undefined {
    for (const [group, addresses] of this.#addresses) {
      if (addresses.has(address)) return `is an address of ${group}`
    }
    const ip = parseIP(address)
    return ip && (special(ip) ?? this.#inRange(ip))
  }

  #inRange(ip: IPAddress): string | undefined {
    const found = this.#ranges.find(({ cidr }) => cidr.family === ip.family && cidrContains(cidr, ip))
    return found && `is in the range of ${found.what}`
  }
}

function special(ip: IPAddress): string | undefined {
  if (isLoopback(ip)) return 'is a loopback address'
  if (isLinkLocalUnicast(ip)) return 'is a link-local address'
  if (isUnspecified(ip)) return 'is no address of a machine'
  return MULTICAST.some((range) => range.family === ip.family && cidrContains(range, ip))
    ? 'is a multicast address'
    : undefined
}

const MULTICAST = ['224.0.0.0/4', 'ff00::/8'].map((text) => parseCIDR(text)!)
