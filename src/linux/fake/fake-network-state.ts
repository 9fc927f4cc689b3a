import type { ForwardingEntry, Link, LinkAddress, Neighbour, NetworkEvent, RateLimit, Route } from '../rtnetlink.ts'
import { LOOPBACK_INDEX } from '../rtnetlink.ts'

/** Links, addresses, routes and neighbours of one fake namespace. */
export class FakeNetworkState {
  readonly links = new Map<number, Link>()
  /** The other end of a veth pair, in whichever namespace it is. */
  readonly peers = new Map<number, { readonly state: FakeNetworkState; readonly index: number }>()
  addresses: LinkAddress[] = []
  routes: Route[] = []
  neighbours: Neighbour[] = []
  forwardingEntries: ForwardingEntry[] = []
  rateLimits: RateLimit[] = []
  readonly listeners = new Set<(event: NetworkEvent) => void>()
  private nextIndex = LOOPBACK_INDEX

  constructor() {
    const index = this.takeIndex()
    this.links.set(index, { index, name: 'lo', up: false, mtu: 65536, hardwareAddress: '00:00:00:00:00:00' })
  }

  takeIndex(): number {
    return this.nextIndex++
  }

  linkNamed(name: string): Link | undefined {
    for (const link of this.links.values()) if (link.name === name) return link
    return undefined
  }

  setLink(link: Link): void {
    this.links.set(link.index, link)
    this.emit({ object: 'link', change: 'set', link })
  }

  addRoute(route: Route): void {
    this.routes = [...this.routes, route]
    this.emit({ object: 'route', change: 'set', route })
  }

  removeRoutes(which: (route: Route) => boolean): void {
    const removed = this.routes.filter(which)
    this.routes = this.routes.filter((route) => !removed.includes(route))
    for (const route of removed) this.emit({ object: 'route', change: 'deleted', route })
  }

  removeAddresses(which: (address: LinkAddress) => boolean): void {
    const removed = this.addresses.filter(which)
    this.addresses = this.addresses.filter((address) => !removed.includes(address))
    for (const address of removed) this.emit({ object: 'address', change: 'deleted', address })
  }

  removeLink(link: Link): void {
    const { index } = link
    this.removeRoutes((route) => route.link === index)
    this.removeAddresses((address) => address.link === index)
    this.neighbours = this.neighbours.filter((neighbour) => neighbour.link !== index)
    this.forwardingEntries = this.forwardingEntries.filter((entry) => entry.link !== index)
    this.rateLimits = this.rateLimits.filter(({ link: limited }) => limited !== index)
    this.links.delete(index)
    this.peers.delete(index)
    this.emit({ object: 'link', change: 'deleted', link })
  }

  /** Later, as the event loop would. */
  emit(event: NetworkEvent): void {
    for (const listener of this.listeners) {
      queueMicrotask(() => {
        if (this.listeners.has(listener)) listener(event)
      })
    }
  }
}
