import { ipBytes, macBytes } from '../netlink/addresses.ts'
import type { NetworkNamespace } from '../network-namespace.ts'
import type { Rtnetlink } from '../rtnetlink.ts'
import { LinuxError } from '../system-error.ts'
import { ENODEV, ENOENT } from './errors.ts'
import { fakeAddressCalls, fakeRouteCalls } from './fake-addresses.ts'
import { fakeLinkCalls } from './fake-links.ts'
import type { FakeNetworkState } from './fake-network-state.ts'

export function openFakeRtnetlink(
  state: FakeNetworkState,
  stateOf: (namespace: NetworkNamespace) => FakeNetworkState,
): Rtnetlink {
  return {
    ...fakeLinkCalls(state, stateOf),
    ...fakeAddressCalls(state),
    ...fakeRouteCalls(state),
    ...neighbourCalls(state),
    ...forwardingCalls(state),
    rateLimits: () => [...state.rateLimits],
    limitRate(limit) {
      checkLink(state, limit.link, `limit the rate of link ${limit.link}`)
      state.rateLimits = [...state.rateLimits.filter(({ link }) => link !== limit.link), limit]
    },
    watch(listener) {
      state.listeners.add(listener)
      return { [Symbol.dispose]: () => void state.listeners.delete(listener) }
    },
    [Symbol.dispose]: () => {},
  }
}

function checkLink(state: FakeNetworkState, index: number, what: string): void {
  if (!state.links.has(index)) throw new LinuxError(ENODEV, what)
}

type NeighbourCalls = Pick<Rtnetlink, 'neighbours' | 'replaceNeighbour' | 'deleteNeighbour'>

function neighbourCalls(state: FakeNetworkState): NeighbourCalls {
  const others = (to: { link: number; address: string }) =>
    state.neighbours.filter(({ link, address }) => link !== to.link || address !== to.address)
  return {
    neighbours: () => [...state.neighbours],
    replaceNeighbour(neighbour) {
      checkLink(state, neighbour.link, `neighbour ${neighbour.address}`)
      ipBytes(neighbour.address)
      macBytes(neighbour.hardwareAddress)
      state.neighbours = [...others(neighbour), neighbour]
    },
    deleteNeighbour(neighbour) {
      const what = `delete neighbour ${neighbour.address}`
      checkLink(state, neighbour.link, what)
      const left = others(neighbour)
      if (left.length === state.neighbours.length) throw new LinuxError(ENOENT, what)
      state.neighbours = left
    },
  }
}

type ForwardingCalls = Pick<Rtnetlink, 'forwardingEntries' | 'replaceForwardingEntry' | 'deleteForwardingEntry'>

function forwardingCalls(state: FakeNetworkState): ForwardingCalls {
  const others = (to: { link: number; hardwareAddress: string }) =>
    state.forwardingEntries.filter(
      ({ link, hardwareAddress }) => link !== to.link || hardwareAddress !== to.hardwareAddress,
    )
  return {
    forwardingEntries: () => [...state.forwardingEntries],
    replaceForwardingEntry(entry) {
      checkLink(state, entry.link, `forwarding entry ${entry.hardwareAddress}`)
      macBytes(entry.hardwareAddress)
      ipBytes(entry.destination)
      state.forwardingEntries = [...others(entry), entry]
    },
    deleteForwardingEntry(entry) {
      const what = `delete forwarding entry ${entry.hardwareAddress}`
      checkLink(state, entry.link, what)
      const left = others(entry)
      if (left.length === state.forwardingEntries.length) throw new LinuxError(ENOENT, what)
      state.forwardingEntries = left
    },
  }
}
