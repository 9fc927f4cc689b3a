import { macBytes } from '../netlink/addresses.ts'
import type { NetworkNamespace } from '../network-namespace.ts'
import type { Link, LinkAttributes, LinkChange, NewLink, Rtnetlink, VxlanAttributes } from '../rtnetlink.ts'
import { LOOPBACK_INDEX } from '../rtnetlink.ts'
import { LinuxError } from '../system-error.ts'
import { EEXIST, EINVAL, ENODEV, EOPNOTSUPP, ERANGE } from './errors.ts'
import { routesOfAddress } from './fake-addresses.ts'
import type { FakeNetworkState } from './fake-network-state.ts'

const LONGEST_NAME = 15
const ETHERNET_MTU = 1500

type LinkCalls = Pick<Rtnetlink, 'links' | 'link' | 'addLink' | 'changeLink' | 'deleteLink'>

export function fakeLinkCalls(
  state: FakeNetworkState,
  stateOf: (namespace: NetworkNamespace) => FakeNetworkState,
): LinkCalls {
  return {
    links: () => [...state.links.values()],
    link: (name) => state.linkNamed(name),
    addLink: (link) => addLink(state, link, stateOf),
    changeLink: (index, change) => changeLink(state, index, change),
    deleteLink: (index) => deleteLink(state, index),
  }
}

function addLink(
  state: FakeNetworkState,
  link: NewLink,
  stateOf: (namespace: NetworkNamespace) => FakeNetworkState,
): Link {
  const what = `add link ${link.name}`
  checkName(state, link.name, what)
  if (link.master && state.links.get(link.master)?.kind !== 'bridge') throw new LinuxError(EINVAL, what)
  if (link.kind === 'vxlan') checkVxlan(state, link.vxlan, what)
  const peerState = link.kind === 'veth' && link.peer.namespace ? stateOf(link.peer.namespace) : state
  if (link.kind === 'veth') {
    checkName(peerState, link.peer.name, what)
    if (peerState === state && link.peer.name === link.name) throw new LinuxError(EEXIST, what)
  }
  const peer = link.kind === 'veth' ? makeLink(peerState, 'veth', link.peer) : undefined
  const made: Link = {
    ...makeLink(state, link.kind, link),
    up: link.up ?? false,
    ...(link.master && { master: link.master, hairpin: false }),
    ...(link.kind === 'vxlan' && { vxlan: { ...link.vxlan, learning: link.vxlan.learning ?? false } }),
  }
  if (peer) {
    state.peers.set(made.index, { state: peerState, index: peer.index })
    peerState.peers.set(peer.index, { state, index: made.index })
    peerState.setLink(peer)
  }
  state.setLink(made)
  return made
}

function makeLink(state: FakeNetworkState, kind: string, attributes: LinkAttributes): Link {
  const index = state.takeIndex()
  const hardwareAddress = attributes.hardwareAddress ?? `02:00:00:00:00:${(index & 0xff).toString(16).padStart(2, '0')}`
  macBytes(hardwareAddress)
  return { index, name: attributes.name, kind, up: false, mtu: attributes.mtu ?? ETHERNET_MTU, hardwareAddress }
}

function checkName(state: FakeNetworkState, name: string, what: string): void {
  if (Buffer.byteLength(name) > LONGEST_NAME) throw new LinuxError(ERANGE, what, 'Attribute failed policy validation')
  if (name === '' || name === '.' || name === '..' || /[/:\s]/.test(name)) throw new LinuxError(EINVAL, what)
  if (state.linkNamed(name)) throw new LinuxError(EEXIST, what)
}

/** One device for each network, port and family of the hosts. */
function checkVxlan(state: FakeNetworkState, vxlan: VxlanAttributes, what: string): void {
  const isIPv6 = (one: VxlanAttributes) => one.local?.includes(':') ?? false
  for (const { vxlan: other } of state.links.values()) {
    if (other?.id === vxlan.id && other.port === vxlan.port && isIPv6(other) === isIPv6(vxlan)) {
      throw new LinuxError(EEXIST, what, 'A VXLAN device with the specified VNI already exists')
    }
  }
}

function changeLink(state: FakeNetworkState, index: number, change: LinkChange): void {
  const what = `change link ${index}`
  const link = state.links.get(index)
  if (!link) throw new LinuxError(ENODEV, what)
  if (change.name !== undefined && change.name !== link.name) checkName(state, change.name, what)
  if (change.master && state.links.get(change.master)?.kind !== 'bridge') throw new LinuxError(EINVAL, what)
  const { master: oldMaster, hairpin: oldHairpin, ...rest } = link
  const { master = oldMaster, hairpin, ...attributes } = change
  if (hairpin !== undefined && !master) throw new LinuxError(EOPNOTSUPP, what)
  state.setLink({ ...rest, ...attributes, ...(master && { master, hairpin: hairpin ?? oldHairpin ?? false }) })
  if (change.up !== undefined && change.up !== link.up) linkWent(state, index, change.up)
}

/** The kernel takes the routes of a link that goes down, and its IPv6 addresses; connected routes come back with it. */
function linkWent(state: FakeNetworkState, index: number, up: boolean): void {
  if (!up) {
    state.removeRoutes((route) => route.link === index)
    state.removeAddresses(({ link, address }) => link === index && address.includes(':'))
    return
  }
  for (const address of state.addresses.filter(({ link }) => link === index)) {
    for (const route of routesOfAddress(address)) state.addRoute(route)
  }
}

function deleteLink(state: FakeNetworkState, index: number): void {
  const link = state.links.get(index)
  if (!link) throw new LinuxError(ENODEV, `delete link ${index}`)
  if (index === LOOPBACK_INDEX) throw new LinuxError(EOPNOTSUPP, `delete link ${index}`)
  const peer = state.peers.get(index)
  releasePorts(state, index)
  state.removeLink(link)
  const other = peer?.state.links.get(peer.index)
  if (peer && other) peer.state.removeLink(other)
}

function releasePorts(state: FakeNetworkState, bridge: number): void {
  for (const port of [...state.links.values()]) {
    if (port.master !== bridge) continue
    const { master, hairpin, ...rest } = port
    state.setLink(rest)
  }
}
