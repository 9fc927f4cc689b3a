/** All of the kernel that Sampan needs. `kernelLinux` is the real one, `fakeLinux` behaves like it in memory. */
import type { Conntrack } from './conntrack.ts'
import type { NetworkNamespace, NetworkNamespaces } from './network-namespace.ts'
import type { NftTrace } from './nft-trace.ts'
import type { Nftables } from './nftables.ts'
import type { Rtnetlink } from './rtnetlink.ts'
import type { SocketDiagnostics } from './socket-diagnostics.ts'
import type { Sysctl } from './sysctl.ts'

/** Each `open` is for one network namespace: that of the process unless one is given. */
export interface Linux {
  /** Whether the programs of this machine see the same: not so with a fake. */
  readonly isKernel: boolean
  readonly namespaces: NetworkNamespaces
  openRtnetlink(namespace?: NetworkNamespace): Rtnetlink
  openNftables(namespace?: NetworkNamespace): Nftables
  openConntrack(namespace?: NetworkNamespace): Conntrack
  openSocketDiagnostics(namespace?: NetworkNamespace): SocketDiagnostics
  openNftTrace(namespace?: NetworkNamespace): NftTrace
  openSysctl(namespace?: NetworkNamespace): Sysctl
}
