import { cidrContains, formatCIDR, parseCIDR, parseIP } from '../../base/ip-address.ts'
import { familyOf, ipBytes, prefixBytes } from '../netlink/addresses.ts'
import { type LinkAddress, LOCAL_TABLE, MAIN_TABLE, type Route, type Rtnetlink } from '../rtnetlink.ts'
import { LinuxError } from '../system-error.ts'
import { EADDRNOTAVAIL, EEXIST, EHOSTUNREACH, EINVAL, ENETDOWN, ENETUNREACH, ENODEV, ESRCH } from './errors.ts'
import type { FakeNetworkState } from './fake-network-state.ts'

const isIPv6 = (text: string) => text.includes(':')
const hostOf = (address: string) => address.slice(0, address.indexOf('/'))
const KERNEL_IPV6_METRIC = 256

/** The route to its own network that an address brings. */
function connectedRoute({ link, address }: LinkAddress): Route | undefined {
  const cidr = parseCIDR(address)!
  if (cidr.prefixLength === (isIPv6(address) ? 128 : 32) && !isIPv6(address)) return undefined
  const destination = formatCIDR(cidr)
  return isIPv6(address)
    ? { destination, link, metric: KERNEL_IPV6_METRIC }
    : { destination, link, source: hostOf(address) }
}

/** The routes that an address on a link that is up brings: to itself, and to its network. */
export function routesOfAddress(address: LinkAddress): Route[] {
  const host = hostOf(address.address)
  const own: Route = isIPv6(host)
    ? { destination: `${host}/128`, link: address.link, table: LOCAL_TABLE, type: 'local' }
    : { destination: `${host}/32`, link: address.link, source: host, table: LOCAL_TABLE, type: 'local' }
  const connected = connectedRoute(address)
  return connected ? [own, connected] : [own]
}

type AddressCalls = Pick<Rtnetlink, 'addresses' | 'addAddress' | 'deleteAddress'>

export function fakeAddressCalls(state: FakeNetworkState): AddressCalls {
  return {
    addresses: () => [...state.addresses],
    addAddress(address) {
      prefixBytes(address.address)
      const what = `add address ${address.address}`
      const link = state.links.get(address.link)
      if (!link) throw new LinuxError(ENODEV, what, 'Device not found')
      // IPv6 has an address once on a link; IPv4 once with the same prefix length.
      const same = (other: LinkAddress) =>
        other.link === address.link &&
        (isIPv6(address.address)
          ? hostOf(other.address) === hostOf(address.address)
          : other.address === address.address)
      if (state.addresses.some(same)) throw new LinuxError(EEXIST, what, 'Address already assigned')
      state.addresses = [...state.addresses, address]
      state.emit({ object: 'address', change: 'set', address })
      if (link.up) for (const route of routesOfAddress(address)) state.addRoute(route)
    },
    deleteAddress(address) {
      const found = state.addresses.find((other) => other.link === address.link && other.address === address.address)
      if (!found) throw new LinuxError(EADDRNOTAVAIL, `delete address ${address.address}`, 'Address not found')
      const gone = routesOfAddress(found)
      const isGone = (route: Route) =>
        gone.some(
          ({ destination, source, table }) =>
            destination === route.destination && source === route.source && table === route.table,
        )
      state.removeRoutes(isGone)
      state.removeAddresses((other) => other === found)
    },
  }
}

type RouteCalls = Pick<Rtnetlink, 'routes' | 'addRoute' | 'replaceRoute' | 'deleteRoute'>

export function fakeRouteCalls(state: FakeNetworkState): RouteCalls {
  const add = (route: Route, replace: boolean) => {
    const what = `route to ${route.destination}`
    const resolved = resolveRoute(state, route, what)
    const existing = state.routes.find((other) => samePlace(other, resolved))
    if (existing && !replace) throw new LinuxError(EEXIST, what)
    if (existing) state.routes = state.routes.filter((other) => other !== existing)
    state.addRoute(resolved)
  }
  return {
    routes: (table = MAIN_TABLE) => state.routes.filter((route) => (route.table ?? MAIN_TABLE) === table),
    addRoute: (route) => add(route, false),
    replaceRoute: (route) => add(route, true),
    deleteRoute(route) {
      const found = state.routes.find((other) => matches(other, route))
      if (!found) throw new LinuxError(ESRCH, `delete route to ${route.destination}`)
      state.removeRoutes((other) => other === found)
    },
  }
}

const tableOf = (route: Route) => route.table ?? MAIN_TABLE

const samePlace = (a: Route, b: Route) =>
  a.destination === b.destination && a.metric === b.metric && tableOf(a) === tableOf(b)

/** What the deletion leaves out may be anything. */
const matches = (route: Route, wanted: Route) =>
  route.destination === wanted.destination &&
  tableOf(route) === tableOf(wanted) &&
  (wanted.gateway === undefined || route.gateway === wanted.gateway) &&
  (wanted.link === undefined || route.link === wanted.link) &&
  (wanted.metric === undefined || route.metric === wanted.metric)

function resolveRoute(state: FakeNetworkState, route: Route, what: string): Route {
  checkDestination(route, what)
  const { table, type, ...rest } = route
  const named: Route = {
    ...rest,
    ...(table !== undefined && table !== MAIN_TABLE && { table }),
    ...(type && type !== 'unicast' && { type }),
  }
  if (named.type && named.type !== 'local') return named
  if (named.source && !state.addresses.some(({ address }) => hostOf(address) === named.source)) {
    throw new LinuxError(EINVAL, what, 'Invalid prefsrc address')
  }
  const link = named.link ?? (named.gateway && linkTowards(state, named.gateway))
  if (named.gateway && !named.onlink) checkGateway(state, named.gateway, link || undefined, what)
  if (!link || !state.links.has(link)) throw new LinuxError(ENODEV, what)
  if (!state.links.get(link)!.up) throw new LinuxError(ENETDOWN, what)
  return { ...named, link }
}

function checkDestination(route: Route, what: string): void {
  const { bytes } = prefixBytes(route.destination)
  const cidr = parseCIDR(route.destination)!
  if (cidr.first !== cidr.address && bytes.length === 4) {
    throw new LinuxError(EINVAL, what, 'Invalid prefix for given prefix length')
  }
  if (route.gateway && familyOf(ipBytes(route.gateway)) !== familyOf(bytes)) throw new LinuxError(EINVAL, what)
}

/** The link of the longest route without gateway that has the address. */
function linkTowards(state: FakeNetworkState, address: string): number | undefined {
  const ip = parseIP(address)!
  let best: { length: number; link: number | undefined } = { length: -1, link: undefined }
  for (const route of state.routes) {
    const cidr = parseCIDR(route.destination)!
    if (route.gateway || route.type || !cidrContains(cidr, ip) || cidr.prefixLength <= best.length) continue
    best = { length: cidr.prefixLength, link: route.link }
  }
  return best.link
}

function checkGateway(state: FakeNetworkState, gateway: string, link: number | undefined, what: string): void {
  const towards = linkTowards(state, gateway)
  if (towards !== undefined && (link === undefined || towards === link)) return
  if (isIPv6(gateway)) throw new LinuxError(EHOSTUNREACH, what)
  throw new LinuxError(ENETUNREACH, what, 'Nexthop has invalid gateway')
}
