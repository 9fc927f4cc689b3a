/** The pod network of one node, kept as the API's Nodes want it. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Node } from '../api/generated/core-v1.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { type Random, systemRandom } from '../base/random.ts'
import { startInformer } from '../client/informer.ts'
import type { Transport } from '../client/transport.ts'
import type { Linux } from '../linux/linux.ts'
import { NETWORK_BACKENDS, type NetworkBackendName } from './backends.ts'
import { BridgePodNetwork } from './bridge/bridge-pod-network.ts'
import { CniPodNetwork } from './cni/cni-pod-network.ts'
import { rememberForwarding, restoreForwarding } from './node/former-forwarding.ts'
import { NodeGuard, type NodeGuardOptions, removeNodeGuard } from './node/node-guard.ts'
import { NodeLoop } from './node/node-loop.ts'
import { previousBackend, rememberBackend } from './node/previous-backend.ts'
import { slimNode } from './peers/peer-of-node.ts'
import type { PodNetwork } from './pod-network.ts'
import { SandboxRecords } from './sandboxes/sandbox-records.ts'
import { VXLAN_DEVICES, PORT as VXLAN_PORT } from './vxlan/device.ts'

export interface NodeNetworkOptions {
  /** As the node: for what it tells of itself. */
  readonly transport: Transport
  /** As somebody who may read all Nodes, which a node itself may not; `transport` unless given. */
  readonly nodesTransport?: Transport
  readonly nodeName: string
  readonly linux: Linux
  /** How packets go from node to node. */
  readonly backend: NetworkBackendName
  /** As `--cluster-cidr`: one CIDR, or two with a comma. What pods send elsewhere is masqueraded. */
  readonly clusterCidr: string
  /** What must outlive the process: leases, and what plugins were told. */
  readonly stateDir: string
  readonly clock: Clock
  readonly log: Logger
  readonly random?: Random
  /** `cni0` unless told. */
  readonly bridge?: string
  /** Overrides what follows from the uplink. */
  readonly mtu?: number
  /** Neighbours must not reach pods and Services through this node; a node that is no machine of its own needs no guard. */
  readonly guard?: NodeGuardOptions
  /** CNI plugins make the pods' network instead of the bridge. */
  readonly cni?: { readonly confDir: string; readonly binDirs: readonly string[] }
}

export interface NodeNetwork extends AsyncDisposable {
  readonly podNetwork: PodNetwork
  /** Resolves when pods can be attached for the first time; rejects if disposed before. */
  readonly ready: Promise<void>
  /** Why pods cannot be attached, for the node's Ready condition; undefined if they can. */
  readonly notReadyReason: string | undefined
  /** Removes all of it from the kernel, pods' networks included. Disposing leaves it: traffic goes on. */
  cleanup(): Promise<void>
}

const DEFAULT_BRIDGE = 'cni0'

export async function startNodeNetwork(options: NodeNetworkOptions): Promise<NodeNetwork> {
  const { transport, clock, log, linux, stateDir, random = systemRandom } = options
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  rememberForwarding(stateDir, linux)
  const clusterCIDRs = options.clusterCidr.split(',').map((cidr) => cidr.trim())
  const backend = chooseBackend(options, clusterCIDRs)
  const podNetwork = openPodNetwork(options, clusterCIDRs)
  const nodes = startInformer<Node>({
    transport: options.nodesTransport ?? transport,
    resource: nodeKind,
    clock,
    random,
    log,
    transform: slimNode,
  })
  const bridge = options.bridge ?? DEFAULT_BRIDGE
  const guard = options.guard && new NodeGuard(guardParts(options, clusterCIDRs, bridge), options.guard)
  const loop = new NodeLoop({ ...options, clusterCIDRs, bridge, backend, podNetwork, nodes, linux, guard })
  loop.start()
  return {
    podNetwork,
    ready: loop.ready,
    get notReadyReason() {
      return loop.notReadyReason
    },
    async cleanup() {
      await loop.pause()
      await podNetwork.cleanup()
      backend.stop()
      await removeNodeGuard(linux)
      restoreForwarding(stateDir, linux)
    },
    async [Symbol.asyncDispose]() {
      await loop[Symbol.asyncDispose]()
      await nodes[Symbol.asyncDispose]()
      await podNetwork[Symbol.asyncDispose]()
      backend[Symbol.dispose]()
    },
  }
}

function guardParts({ linux, backend }: NodeNetworkOptions, clusterCIDRs: readonly string[], bridge: string) {
  const hasTunnel = backend === 'vxlan'
  return {
    linux,
    clusterCIDRs,
    ownLinks: [bridge, ...(hasTunnel ? Object.values(VXLAN_DEVICES) : [])],
    tunnelPorts: hasTunnel ? [{ protocol: 'UDP', port: VXLAN_PORT } as const] : [],
    isRouted: !hasTunnel,
  }
}

function chooseBackend({ backend: name, linux, log, stateDir }: NodeNetworkOptions, clusterCIDRs: readonly string[]) {
  const previous = previousBackend(stateDir)
  if (previous !== name && previous !== undefined && previous in NETWORK_BACKENDS) {
    const old = NETWORK_BACKENDS[previous as NetworkBackendName]({ linux, clusterCIDRs, log })
    old.stop()
    old[Symbol.dispose]()
  }
  rememberBackend(stateDir, name)
  return NETWORK_BACKENDS[name]({ linux, clusterCIDRs, log })
}

function openPodNetwork(options: NodeNetworkOptions, clusterCIDRs: readonly string[]) {
  const { linux, log, stateDir, cni, clock, bridge = DEFAULT_BRIDGE } = options
  const records = new SandboxRecords(path.join(stateDir, 'sandboxes'))
  if (cni) return new CniPodNetwork({ linux, records, log, clock, ...cni })
  return new BridgePodNetwork({ linux, records, log, clock, bridge, clusterCIDRs })
}
