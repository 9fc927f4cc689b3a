import type { ForwardingEntry, Neighbour, Route, Rtnetlink } from '../../linux/rtnetlink.ts'
import { hasCode } from '../../linux/system-error.ts'

/** What the kernel must know to reach the pods of one peer. */
export interface PeerEntries {
  readonly routes: readonly Route[]
  readonly neighbours?: readonly Neighbour[]
  readonly forwarding?: readonly ForwardingEntry[]
}

/** One kind of entry: how to tell two apart, and how to set and remove one. */
interface EntryKind<Entry> {
  key(entry: Entry): string
  same(a: Entry, b: Entry): boolean
  list(): Entry[]
  set(entry: Entry): void
  remove(entry: Entry): void
}

/**
 * The entries of all peers, in the kernel and in mind. A destination belongs to the peer that claimed it last: when a CIDR moves
 * from one node to another, the old one's removal does not take the new one's route.
 */
export class PeerTable {
  readonly #routes: EntrySet<Route>
  readonly #neighbours: EntrySet<Neighbour>
  readonly #forwarding: EntrySet<ForwardingEntry>

  /** `isOwn` says which routes of the kernel are the table's to remove, `isOwnLink` whose neighbours. */
  constructor(network: Rtnetlink, isOwn: (route: Route) => boolean, isOwnLink: (link: number) => boolean) {
    this.#routes = new EntrySet(routeKind(network, isOwn))
    this.#neighbours = new EntrySet(neighbourKind(network, isOwnLink))
    this.#forwarding = new EntrySet(forwardingKind(network, isOwnLink))
  }

  /** Makes the kernel have these and no others. One that is refused does not keep the others from being set. */
  setAll(peers: ReadonlyMap<string, PeerEntries>): void {
    const failures = [
      ...this.#neighbours.setAll(peers, ({ neighbours = [] }) => neighbours),
      ...this.#forwarding.setAll(peers, ({ forwarding = [] }) => forwarding),
      ...this.#routes.setAll(peers, ({ routes }) => routes),
    ]
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} entries: ${failures[0]}`)
  }

  set(peer: string, entries: PeerEntries = { routes: [] }): void {
    // A route must never lead to where nothing is known of: it comes last and goes first.
    this.#routes.drop(peer, entries.routes)
    this.#neighbours.set(peer, entries.neighbours ?? [])
    this.#forwarding.set(peer, entries.forwarding ?? [])
    this.#routes.set(peer, entries.routes)
  }
}

class EntrySet<Entry> {
  readonly #kind: EntryKind<Entry>
  readonly #byPeer = new Map<string, Map<string, Entry>>()
  readonly #owner = new Map<string, string>()

  constructor(kind: EntryKind<Entry>) {
    this.#kind = kind
  }

  /** What is refused does not keep the others from being set, and is not taken for set the next time. */
  set(peer: string, entries: readonly Entry[]): void {
    const kind = this.#kind
    this.drop(peer, entries)
    const current = new Map(this.#byPeer.get(peer))
    const failures: unknown[] = []
    for (const entry of entries) {
      const key = kind.key(entry)
      const before = this.#owner.get(key) === peer ? current.get(key) : undefined
      this.#owner.set(key, peer)
      if (before && kind.same(before, entry)) continue
      try {
        kind.set(entry)
        current.set(key, entry)
      } catch (error) {
        failures.push(error)
      }
    }
    if (current.size > 0) this.#byPeer.set(peer, current)
    if (failures.length > 0) throw failures[0]
  }

  /** Removes those of the peer that are not among `kept`. */
  drop(peer: string, kept: readonly Entry[]): void {
    const old = this.#byPeer.get(peer)
    if (!old) return
    const keys = new Set(kept.map((entry) => this.#kind.key(entry)))
    const left = new Map(old)
    for (const [key, entry] of old) {
      if (keys.has(key)) continue
      left.delete(key)
      if (this.#owner.get(key) !== peer) continue
      this.#owner.delete(key)
      unlessGone(() => this.#kind.remove(entry))
    }
    if (left.size > 0) this.#byPeer.set(peer, left)
    else this.#byPeer.delete(peer)
  }

  setAll<T>(peers: ReadonlyMap<string, T>, entriesOf: (peer: T) => readonly Entry[]): unknown[] {
    const kind = this.#kind
    const failures: unknown[] = []
    this.#byPeer.clear()
    this.#owner.clear()
    for (const [name, peer] of peers) this.#claim(name, entriesOf(peer))
    const present = new Map<string, Entry>()
    for (const entry of kind.list()) {
      if (this.#owner.has(kind.key(entry))) present.set(kind.key(entry), entry)
      else unlessGone(() => kind.remove(entry))
    }
    for (const [key, peer] of this.#owner) {
      const entry = this.#byPeer.get(peer)!.get(key)!
      const there = present.get(key)
      if (there && kind.same(there, entry)) continue
      try {
        kind.set(entry)
      } catch (error) {
        failures.push(error)
        this.#byPeer.get(peer)!.delete(key)
      }
    }
    return failures
  }

  #claim(peer: string, entries: readonly Entry[]): void {
    this.#byPeer.set(peer, new Map(entries.map((entry) => [this.#kind.key(entry), entry])))
    for (const entry of entries) this.#owner.set(this.#kind.key(entry), peer)
  }
}

const routeKind = (network: Rtnetlink, isOwn: (route: Route) => boolean): EntryKind<Route> => ({
  key: ({ destination }) => destination,
  same: (a, b) => a.gateway === b.gateway && (a.link === b.link || a.link === undefined || b.link === undefined),
  list: () => network.routes().filter(isOwn),
  set: (route) => network.replaceRoute(route),
  remove: (route) => network.deleteRoute(route),
})

const neighbourKind = (network: Rtnetlink, isOwnLink: (link: number) => boolean): EntryKind<Neighbour> => ({
  key: ({ link, address }) => `${link} ${address}`,
  same: (a, b) => a.hardwareAddress === b.hardwareAddress,
  list: () => network.neighbours().filter(({ link }) => isOwnLink(link)),
  set: (neighbour) => network.replaceNeighbour(neighbour),
  remove: (neighbour) => network.deleteNeighbour(neighbour),
})

const forwardingKind = (network: Rtnetlink, isOwnLink: (link: number) => boolean): EntryKind<ForwardingEntry> => ({
  key: ({ link, hardwareAddress }) => `${link} ${hardwareAddress}`,
  same: (a, b) => a.destination === b.destination,
  list: () => network.forwardingEntries().filter(({ link }) => isOwnLink(link)),
  set: (entry) => network.replaceForwardingEntry(entry),
  remove: (entry) => network.deleteForwardingEntry(entry),
})

function unlessGone(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ESRCH', 'ENODEV')) throw error
  }
}
