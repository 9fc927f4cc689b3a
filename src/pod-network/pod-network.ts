/** The network of the pods of one node. What the container runtime asks of it, and what it asks of a backend. */

/** A port of the node that leads to a port of the pod. */
export interface HostPort {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  readonly hostPort: number
  readonly containerPort: number
  /** Every address of the node if there is none (or `0.0.0.0`, or `::`). */
  readonly hostIP?: string
}

/** Bits per second, as in `kubernetes.io/ingress-bandwidth` and `egress-bandwidth`. */
export interface Bandwidth {
  readonly ingress?: number
  readonly egress?: number
}

export interface PodSandbox {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** Letters, digits, `-`, `_` and `.`; unique on the machine. */
  readonly sandboxId: string
  /** The namespace, if the runtime has made it already. */
  readonly netnsPath?: string
  readonly hostPorts?: readonly HostPort[]
  readonly bandwidth?: Bandwidth
  readonly mtu?: number
}

export interface PodAttachment {
  readonly netnsPath: string
  /** Without prefix length; the first is the pod's `podIP`. */
  readonly addresses: readonly string[]
}

export interface PodNetwork extends AsyncDisposable {
  /**
   * Makes the pod's network namespace, or adopts the one there is: `lo` up, `eth0`, addresses, default route, host ports.
   * A second call changes nothing and gives the same answer. If it fails, nothing is left behind.
   */
  attach(pod: PodSandbox): Promise<PodAttachment>
  /** Also right when the namespace is gone, or never was. Processes inside must have ended before. */
  detach(sandboxId: string): Promise<void>
  /** Throws what is wrong with it. */
  check(sandboxId: string): Promise<void>
  /** The sandboxes it knows, also those of a process before this one. */
  list(): Promise<readonly string[]>
}

/** Another node: what must be known to reach its pods. */
export interface Peer {
  readonly name: string
  readonly podCIDRs: readonly string[]
  /** Where the node itself is reached: at most one of each family. */
  readonly publicAddresses: readonly string[]
  /** What its backend tells others, as annotations of the Node. */
  readonly annotations: Readonly<Record<string, string>>
}

/** The node a backend works on. */
export interface BackendNode extends Peer {
  readonly uid: string
  /** The link by which the node reaches others. */
  readonly uplink: { readonly index: number; readonly name: string; readonly mtu: number }
}

/**
 * How packets go from node to node. What a backend puts into the kernel stays when the process ends, so traffic goes on;
 * `setPeers` of the next one adopts it.
 */
export interface NetworkBackend extends Disposable {
  readonly name: string
  /** How many bytes a packet grows by between this node and others. */
  overhead(node: BackendNode): number
  /** Makes what it needs on this node. The answer is what others must know: annotations for the Node. May be repeated. */
  start(node: BackendNode): Readonly<Record<string, string>>
  /** These are all: what is missing is put into the kernel, what is there of others is removed. Repairs as well. */
  setPeers(peers: readonly Peer[]): void
  /** One of them is new, has changed, or is gone. */
  setPeer(name: string, peer: Peer | undefined): void
  /** Removes all of it from the kernel. */
  stop(): void
}
