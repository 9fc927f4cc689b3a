/**
 * Links, addresses, routes and neighbours of one network namespace. Every call is done when it returns; a refusal is a
 * `LinuxError` with the kernel's errno. Links are named by their index, which stays the same when they are renamed.
 */
import type { NetworkNamespace } from './network-namespace.ts'

export interface Rtnetlink extends Disposable {
  links(): Link[]
  link(name: string): Link | undefined
  addLink(link: NewLink): Link
  changeLink(index: number, change: LinkChange): void
  /** Waits for a grace period of the kernel, some 10 ms: to remove a pod, delete its namespace instead. */
  deleteLink(index: number): void

  addresses(): LinkAddress[]
  addAddress(address: LinkAddress): void
  deleteAddress(address: LinkAddress): void

  /** Those of the main table unless another is asked for. */
  routes(table?: number): Route[]
  addRoute(route: Route): void
  /** Adds it, or takes the place of the one with the same destination and metric. */
  replaceRoute(route: Route): void
  deleteRoute(route: Route): void

  /** Those that were set, not those that the kernel learnt. */
  neighbours(): Neighbour[]
  replaceNeighbour(neighbour: Neighbour): void
  deleteNeighbour(neighbour: Pick<Neighbour, 'link' | 'address'>): void

  /** The forwarding database of VXLAN links: behind which host is a hardware address. */
  forwardingEntries(): ForwardingEntry[]
  replaceForwardingEntry(entry: ForwardingEntry): void
  deleteForwardingEntry(entry: ForwardingEntry): void

  rateLimits(): RateLimit[]
  /** What leaves by the link, from now on. */
  limitRate(limit: RateLimit): void

  /** From now on, in the event loop, until disposed. */
  watch(listener: (event: NetworkEvent) => void): Disposable
}

export interface LinkAttributes {
  readonly name: string
  readonly mtu?: number
  readonly hardwareAddress?: string
}

export interface NewLinkAttributes extends LinkAttributes {
  readonly up?: boolean
  /** The index of the bridge it becomes a port of. */
  readonly master?: number
}

/** The other end of a veth pair; born in `namespace` if there is one, and down. */
export interface VethPeer extends LinkAttributes {
  readonly namespace?: NetworkNamespace
}

export interface VxlanAttributes {
  readonly id: number
  /** IANA's is 4789, Linux' and flannel's 8472. */
  readonly port: number
  readonly local?: string
  /** The index of the link below. */
  readonly device?: number
  readonly learning?: boolean
}

export type NewLink = NewLinkAttributes &
  (
    | { readonly kind: 'bridge' }
    | { readonly kind: 'dummy' }
    | { readonly kind: 'veth'; readonly peer: VethPeer }
    | { readonly kind: 'vxlan'; readonly vxlan: VxlanAttributes }
  )

export interface Link {
  readonly index: number
  readonly name: string
  /** Hardware and loopback have none. */
  readonly kind?: string
  readonly up: boolean
  readonly mtu: number
  readonly hardwareAddress: string
  readonly master?: number
  /** Of a port of a bridge: whether a frame may leave by the port it came in by. */
  readonly hairpin?: boolean
  readonly vxlan?: VxlanAttributes
}

export interface LinkChange {
  readonly up?: boolean
  readonly name?: string
  readonly mtu?: number
  readonly hardwareAddress?: string
  /** 0 takes it out of its bridge. */
  readonly master?: number
  readonly hairpin?: boolean
}

export interface LinkAddress {
  readonly link: number
  /** With the prefix length: `10.244.0.1/24`. */
  readonly address: string
}

export interface Route {
  /** A CIDR; `0.0.0.0/0` and `::/0` are the default routes. */
  readonly destination: string
  readonly gateway?: string
  readonly link?: number
  /** The gateway is taken to be on the link even if no address says so. */
  readonly onlink?: boolean
  readonly source?: string
  readonly metric?: number
  readonly table?: number
  readonly type?: 'unicast' | 'local' | 'blackhole' | 'unreachable' | 'prohibit'
}

export interface Neighbour {
  readonly link: number
  readonly address: string
  readonly hardwareAddress: string
}

export interface RateLimit {
  readonly link: number
  /** A multiple of 8. */
  readonly bitsPerSecond: number
}

export interface ForwardingEntry {
  readonly link: number
  readonly hardwareAddress: string
  /** The address of the host behind which it is. */
  readonly destination: string
}

export type NetworkEvent =
  | { readonly object: 'link'; readonly change: 'set' | 'deleted'; readonly link: Link }
  | { readonly object: 'address'; readonly change: 'set' | 'deleted'; readonly address: LinkAddress }
  | { readonly object: 'route'; readonly change: 'set' | 'deleted'; readonly route: Route }
  /** Events were lost: read everything again. */
  | { readonly object: 'overrun' }

export const MAIN_TABLE = 254
/** Where the kernel has the addresses of the node itself. */
export const LOCAL_TABLE = 255
export const LOOPBACK_INDEX = 1
