/** Linux in memory: as strict as the kernel about what it is told, but no packet ever moves. */
import { FakeConntrackState, openFakeConntrack } from './fake/fake-conntrack.ts'
import { FakeNamespaces } from './fake/fake-namespaces.ts'
import { FakeNetworkState } from './fake/fake-network-state.ts'
import { FakeNftablesState, openFakeNftables } from './fake/fake-nftables.ts'
import { openFakeRtnetlink } from './fake/fake-rtnetlink.ts'
import { FakeSocketsState, openFakeSocketDiagnostics } from './fake/fake-socket-diagnostics.ts'
import { FakeSysctlState, openFakeSysctl } from './fake/fake-sysctl.ts'
import type { Linux } from './linux.ts'
import type { NetworkNamespace } from './network-namespace.ts'
import type { TraceStep } from './nft-trace.ts'
import type { SocketInfo } from './socket-diagnostics.ts'

export interface FakeLinux extends Linux {
  /** Puts a socket into a namespace, as a process there would. */
  addSocket(socket: Omit<SocketInfo, 'cookie'>, namespace?: NetworkNamespace): void
  /** A packet was seen at this step. */
  traced(step: TraceStep, namespace?: NetworkNamespace): void
}

export function fakeLinux(): FakeLinux {
  const namespaces = new FakeNamespaces(() => ({
    network: new FakeNetworkState(),
    nftables: new FakeNftablesState(),
    conntrack: new FakeConntrackState(),
    sockets: new FakeSocketsState(),
    sysctl: new FakeSysctlState(),
    traces: new Set<(step: TraceStep) => void>(),
  }))
  const networkOf = (namespace: NetworkNamespace) => namespaces.stateOf(namespace).network
  return {
    isKernel: false,
    namespaces,
    openRtnetlink: (namespace) => openFakeRtnetlink(namespaces.stateOf(namespace).network, networkOf),
    openNftables: (namespace) => openFakeNftables(namespaces.stateOf(namespace).nftables),
    openConntrack: (namespace) => openFakeConntrack(namespaces.stateOf(namespace).conntrack),
    openSocketDiagnostics: (namespace) => openFakeSocketDiagnostics(namespaces.stateOf(namespace).sockets),
    openNftTrace: (namespace) => ({
      watch(listener) {
        const { traces } = namespaces.stateOf(namespace)
        traces.add(listener)
        return { [Symbol.dispose]: () => void traces.delete(listener) }
      },
      [Symbol.dispose]: () => {},
    }),
    openSysctl(namespace) {
      const { sysctl, network } = namespaces.stateOf(namespace)
      return openFakeSysctl(sysctl, network)
    },
    addSocket: (socket, namespace) => namespaces.stateOf(namespace).sockets.add(socket),
    traced(step, namespace) {
      for (const listener of namespaces.stateOf(namespace).traces) listener(step)
    },
  }
}
