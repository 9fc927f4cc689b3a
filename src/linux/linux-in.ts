import type { Linux } from './linux.ts'
import type { NetworkNamespace } from './network-namespace.ts'

/** The kernel as a process inside the namespace would see it: machines of a test, or nodes of one process. */
export function linuxIn(linux: Linux, own: NetworkNamespace): Linux {
  return {
    ...linux,
    openRtnetlink: (namespace = own) => linux.openRtnetlink(namespace),
    openNftables: (namespace = own) => linux.openNftables(namespace),
    openConntrack: (namespace = own) => linux.openConntrack(namespace),
    openSocketDiagnostics: (namespace = own) => linux.openSocketDiagnostics(namespace),
    openNftTrace: (namespace = own) => linux.openNftTrace(namespace),
    openSysctl: (namespace = own) => linux.openSysctl(namespace),
  }
}
