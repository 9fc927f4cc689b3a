/** What a proxy mode is, and what it is told of its node. */
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Linux } from '../linux/linux.ts'
import type { NetworkNamespace } from '../linux/network-namespace.ts'
import type { ServicePortKey } from './service-port.ts'
import type { ServiceTable } from './service-table.ts'

export type ProxyMode = 'nftables' | 'iptables' | 'ipvs' | 'userspace'

/**
 * One way to bring the service table into effect. Calls never overlap. Guarantees wanted of every backend:
 * - a change is all or nothing as far as its mechanism can, and traffic that is under way goes on;
 * - the work of `apply` follows the size of `changed`, not of the table;
 * - after `apply(table, 'all')` nothing of this mode is left that the table does not ask for, whoever left it;
 * - disposing leaves the rules where they are: traffic goes on without the process.
 */
export interface ServiceProxyBackend extends AsyncDisposable {
  readonly mode: ProxyMode
  /** Why this mode cannot work on this machine; undefined if it can. */
  unsupported(): string | undefined
  /**
   * Brings the ports in `changed` (those that are gone are no longer in the table) to what the table says. 'all' compares
   * everything with what is there: at the start, after a failure and after a change by others.
   */
  apply(table: ServiceTable, changed: ReadonlySet<ServicePortKey> | 'all'): Promise<void>
  /** Takes away all of this mode, also what a former process left. Does nothing if there is nothing. */
  cleanup(): Promise<void>
  /** Told when others changed what this backend put in place: `apply(table, 'all')` repairs it. */
  onDrift(listener: () => void): Disposable
}

/** How traffic of pods of this node (or of the cluster, with its CIDR) is told from all other. */
export type LocalTrafficDetector =
  | { readonly by: 'cidr'; readonly cidrs: readonly string[] }
  | { readonly by: 'bridge'; readonly name: string }
  | { readonly by: 'interface-prefix'; readonly prefix: string }
  | { readonly by: 'none' }

/** What a backend needs to know of the node; the same for all modes. */
export interface ProxyNode {
  /** The addresses of the node, primary ones first; they are `fib` local. */
  readonly nodeIPs: readonly string[]
  readonly localDetector: LocalTrafficDetector
  /** Masquerade all traffic to cluster IPs. */
  readonly masqueradeAll: boolean
  /** The bit of the packet mark that asks for masquerade: 14, as in kube-proxy. */
  readonly masqueradeBit: number
  /** Where node ports answer: CIDRs of node addresses, or the primary addresses. */
  readonly nodePortAddresses: readonly string[] | 'primary'
  /** The ranges of cluster IPs, if known: what is sent to an address nobody has ends here. */
  readonly serviceCIDRs: readonly string[]
}

export interface BackendOptions {
  readonly linux: Linux
  /** Where the rules go; that of the process unless given. */
  readonly namespace?: NetworkNamespace
  readonly node: ProxyNode
  readonly clock: Clock
  readonly log: Logger
}

export type BackendFactory = (options: BackendOptions) => ServiceProxyBackend
