import { openKernelConntrack } from './conntrack/kernel-conntrack.ts'
import type { Linux } from './linux.ts'
import { kernelNamespaces } from './namespaces/kernel-namespaces.ts'
import { openKernelNftTrace } from './nftables/kernel-nft-trace.ts'
import { openKernelNftables } from './nftables/kernel-nftables.ts'
import { openKernelRtnetlink } from './rtnetlink/kernel-rtnetlink.ts'
import { openKernelSocketDiagnostics } from './sock-diag/kernel-socket-diagnostics.ts'
import { openKernelSysctl } from './sysctl/kernel-sysctl.ts'

/** Needs CAP_NET_ADMIN for changes, and CAP_SYS_ADMIN for namespaces. */
export function kernelLinux(): Linux {
  return {
    isKernel: true,
    namespaces: kernelNamespaces(),
    openRtnetlink: openKernelRtnetlink,
    openNftables: openKernelNftables,
    openConntrack: openKernelConntrack,
    openSocketDiagnostics: openKernelSocketDiagnostics,
    openNftTrace: openKernelNftTrace,
    openSysctl: openKernelSysctl,
  }
}
