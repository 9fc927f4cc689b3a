import { AF_BRIDGE, AF_INET, AF_INET6 } from '../netlink/addresses.ts'
import type { NetlinkMessage } from '../netlink/reader.ts'
import { NETLINK_ROUTE, NetlinkSocket, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE } from '../netlink/socket.ts'
import type { NetworkNamespace } from '../network-namespace.ts'
import type { NetworkEvent, Rtnetlink } from '../rtnetlink.ts'
import { MAIN_TABLE } from '../rtnetlink.ts'
import { hasCode } from '../system-error.ts'
import * as addresses from './address-messages.ts'
import * as links from './link-messages.ts'
import * as neighbours from './neighbour-messages.ts'
import * as rates from './rate-messages.ts'
import * as routes from './route-messages.ts'

const ADD = NLM_F_CREATE | NLM_F_EXCL
const REPLACE = NLM_F_CREATE | NLM_F_REPLACE
/** RTNLGRP_LINK, IPV4_IFADDR, IPV4_ROUTE, IPV6_IFADDR, IPV6_ROUTE */
const EVENT_GROUPS = [1, 5, 7, 9, 11]
const EVENT_BUFFER_BYTES = 1 << 21

export function openKernelRtnetlink(namespace?: NetworkNamespace): Rtnetlink {
  const socket = new NetlinkSocket(NETLINK_ROUTE, { namespace })
  return {
    ...linkCalls(socket),
    ...addressCalls(socket),
    ...routeCalls(socket),
    ...neighbourCalls(socket),
    ...rateCalls(socket),
    watch: (listener) => watchNetwork(namespace, listener),
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  }
}

function linkCalls(socket: NetlinkSocket): Pick<Rtnetlink, 'links' | 'link' | 'addLink' | 'changeLink' | 'deleteLink'> {
  const link = (name: string) => {
    try {
      const [reply] = socket.request(links.RTM_GETLINK, 0, `link ${name}`, (to) => links.writeLinkName(to, name))
      return reply && links.readLink(reply)
    } catch (error) {
      if (hasCode(error, 'ENODEV')) return undefined
      throw error
    }
  }
  return {
    link,
    links: () => socket.dump(links.RTM_GETLINK, 'links', (to) => links.writeLinkHeader(to, {}), links.readLink),
    addLink(added) {
      socket.request(links.RTM_NEWLINK, ADD, `add link ${added.name}`, (to) => links.writeNewLink(to, added))
      return link(added.name)!
    },
    changeLink(index, { hairpin, ...change }) {
      const what = `change link ${index}`
      if (Object.keys(change).length > 0) {
        socket.request(links.RTM_SETLINK, 0, what, (to) => links.writeLinkChange(to, index, change))
      }
      if (hairpin === undefined) return
      socket.request(links.RTM_SETLINK, 0, what, (to) => links.writeHairpin(to, index, AF_BRIDGE, hairpin))
    },
    deleteLink(index) {
      const what = `delete link ${index}`
      socket.request(links.RTM_DELLINK, 0, what, (to) => links.writeLinkHeader(to, { index }))
    },
  }
}

function addressCalls(socket: NetlinkSocket): Pick<Rtnetlink, 'addresses' | 'addAddress' | 'deleteAddress'> {
  return {
    addresses: () => socket.dump(addresses.RTM_GETADDR, 'addresses', addresses.writeAnyAddress, addresses.readAddress),
    addAddress(address) {
      const what = `add address ${address.address}`
      socket.request(addresses.RTM_NEWADDR, ADD, what, (to) => addresses.writeAddress(to, address))
    },
    deleteAddress(address) {
      const what = `delete address ${address.address}`
      socket.request(addresses.RTM_DELADDR, 0, what, (to) => addresses.writeAddress(to, address))
    },
  }
}

type RouteCalls = Pick<Rtnetlink, 'routes' | 'addRoute' | 'replaceRoute' | 'deleteRoute'>

function routeCalls(socket: NetlinkSocket): RouteCalls {
  const set = (flags: number): RouteCalls['addRoute'] => {
    return (route) => {
      const what = `route to ${route.destination}`
      socket.request(routes.RTM_NEWROUTE, flags, what, (to) => routes.writeRoute(to, route, 'set'))
    }
  }
  return {
    routes(table = MAIN_TABLE) {
      const inTable = (message: NetlinkMessage) => {
        const route = routes.readRoute(message)
        return route && (route.table ?? MAIN_TABLE) === table ? route : undefined
      }
      return [AF_INET, AF_INET6].flatMap((family) =>
        socket.dump(routes.RTM_GETROUTE, 'routes', (to) => routes.writeAnyRoute(to, family), inTable),
      )
    },
    addRoute: set(ADD),
    replaceRoute: set(REPLACE),
    deleteRoute(route) {
      const what = `delete route to ${route.destination}`
      socket.request(routes.RTM_DELROUTE, 0, what, (to) => routes.writeRoute(to, route, 'delete'))
    },
  }
}

type NeighbourCalls = Pick<
  Rtnetlink,
  | 'neighbours'
  | 'replaceNeighbour'
  | 'deleteNeighbour'
  | 'forwardingEntries'
  | 'replaceForwardingEntry'
  | 'deleteForwardingEntry'
>

function neighbourCalls(socket: NetlinkSocket): NeighbourCalls {
  const { RTM_NEWNEIGH, RTM_DELNEIGH, RTM_GETNEIGH, writeAnyNeighbour, writeForwardingEntry } = neighbours
  return {
    neighbours: () =>
      [AF_INET, AF_INET6].flatMap((family) =>
        socket.dump(RTM_GETNEIGH, 'neighbours', (to) => writeAnyNeighbour(to, family), neighbours.readNeighbour),
      ),
    replaceNeighbour(neighbour) {
      const what = `neighbour ${neighbour.address}`
      socket.request(RTM_NEWNEIGH, REPLACE, what, (to) => neighbours.writeNeighbour(to, neighbour))
    },
    deleteNeighbour(neighbour) {
      const what = `delete neighbour ${neighbour.address}`
      socket.request(RTM_DELNEIGH, 0, what, (to) => neighbours.writeNeighbour(to, neighbour))
    },
    forwardingEntries: () =>
      socket.dump(
        RTM_GETNEIGH,
        'forwarding entries',
        (to) => writeAnyNeighbour(to, AF_BRIDGE),
        neighbours.readForwardingEntry,
      ),
    replaceForwardingEntry(entry) {
      const what = `forwarding entry ${entry.hardwareAddress}`
      socket.request(RTM_NEWNEIGH, REPLACE, what, (to) => writeForwardingEntry(to, entry))
    },
    deleteForwardingEntry(entry) {
      const what = `delete forwarding entry ${entry.hardwareAddress}`
      socket.request(RTM_DELNEIGH, 0, what, (to) => writeForwardingEntry(to, entry))
    },
  }
}

function rateCalls(socket: NetlinkSocket): Pick<Rtnetlink, 'rateLimits' | 'limitRate'> {
  return {
    rateLimits: () => socket.dump(rates.RTM_GETQDISC, 'rate limits', rates.writeAnyQdisc, rates.readRateLimit),
    limitRate(limit) {
      const what = `limit the rate of link ${limit.link}`
      socket.request(rates.RTM_NEWQDISC, REPLACE, what, (to) => rates.writeRateLimit(to, limit))
    },
  }
}

/** A socket of its own: answers to requests and events never mix. */
function watchNetwork(namespace: NetworkNamespace | undefined, listener: (event: NetworkEvent) => void): Disposable {
  const socket = new NetlinkSocket(NETLINK_ROUTE, { namespace, receiveBufferBytes: EVENT_BUFFER_BYTES })
  for (const group of EVENT_GROUPS) socket.join(group)
  const handle = socket.onMessage(
    (message) => {
      const event = readEvent(message)
      if (event) listener(event)
    },
    () => listener({ object: 'overrun' }),
  )
  return {
    [Symbol.dispose]: () => {
      handle[Symbol.dispose]()
      socket[Symbol.dispose]()
    },
  }
}

export function readEvent(message: NetlinkMessage): NetworkEvent | undefined {
  // Of a bridge about its ports: a link that leaves it is not gone.
  if (message.data[0] === AF_BRIDGE) return undefined
  switch (message.type) {
    case links.RTM_NEWLINK:
      return { object: 'link', change: 'set', link: links.readLink(message) }
    case links.RTM_DELLINK:
      return { object: 'link', change: 'deleted', link: links.readLink(message) }
    case addresses.RTM_NEWADDR:
      return { object: 'address', change: 'set', address: addresses.readAddress(message) }
    case addresses.RTM_DELADDR:
      return { object: 'address', change: 'deleted', address: addresses.readAddress(message) }
    case routes.RTM_NEWROUTE:
    case routes.RTM_DELROUTE: {
      const route = routes.readRoute(message)
      return route && { object: 'route', change: message.type === routes.RTM_NEWROUTE ? 'set' : 'deleted', route }
    }
    default:
      return undefined
  }
}
