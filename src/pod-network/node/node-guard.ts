import type { Node } from '../../api/generated/core-v1.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { parseIP } from '../../base/ip-address.ts'
import type { Linux } from '../../linux/linux.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import type { Sources } from '../forwarding-sources.ts'
import { addNeighbourGuard, type GuardedPort, type GuardPlan } from '../neighbour-guard.ts'
import { networkFacts } from '../network-facts.ts'
import { internalAddresses, peerWithin } from '../peers/peer-of-node.ts'

/** What a node guards that is a machine in the network of other machines. */
export interface NodeGuardOptions {
  readonly serviceCIDRs: readonly string[]
  /** Who else may reach pods and Services by their own addresses. */
  readonly allowed: Sources
  /** Ports of the node that only other nodes use. */
  readonly ports: readonly GuardedPort[]
  /** A network of others connects the pods: only what comes by the link of this address of the node is foreign. */
  readonly onlyTowards?: string
}

interface Parts {
  readonly linux: Linux
  readonly clusterCIDRs: readonly string[]
  /** By which packets of pods come in: the bridge, and tunnels from other nodes. */
  readonly ownLinks: readonly string[]
  /** Where other nodes send what goes through tunnels. */
  readonly tunnelPorts: readonly GuardedPort[]
  /** Packets between pods of different nodes arrive as they are, and not through a tunnel. */
  readonly isRouted: boolean
}

export const GUARD_TABLE = { family: 'inet', name: 'sampan-neighbours' } as const

/** The guard of a node, kept as the API's Nodes want it: all nodes of the cluster are friends. */
export class NodeGuard {
  readonly #parts: Parts
  readonly #options: NodeGuardOptions
  #inEffect: GuardPlan | undefined

  constructor(parts: Parts, options: NodeGuardOptions) {
    this.#parts = parts
    this.#options = options
  }

  /** `repair` writes it again even if nothing is different: others may have taken it away. */
  async update(nodes: readonly Node[], repair: boolean): Promise<void> {
    const plan = this.#plan(nodes)
    if (!repair && deepEqual(plan, this.#inEffect)) return
    using nftables = this.#parts.linux.openNftables()
    if (repair && deepEqual(plan, this.#inEffect) && nftables.list(GUARD_TABLE)) return
    const transaction = new NftTransaction().destroyTable(GUARD_TABLE).addTable(GUARD_TABLE)
    addNeighbourGuard(transaction, GUARD_TABLE, plan)
    await nftables.commit(transaction)
    this.#inEffect = plan
  }

  #plan(nodes: readonly Node[]): GuardPlan {
    const { linux, clusterCIDRs, ownLinks, tunnelPorts } = this.#parts
    const { serviceCIDRs, allowed, ports, onlyTowards } = this.#options
    const foreignLink = onlyTowards && networkFacts(linux, { nodeAddresses: [onlyTowards] }).uplink?.name
    return {
      allowed: {
        links: [...ownLinks, ...allowed.links],
        cidrs: [...new Set([...allowed.cidrs, ...nodes.flatMap((node) => this.#sourcesOf(node))])].sort(),
      },
      guarded: [...clusterCIDRs, ...serviceCIDRs],
      ports: [...tunnelPorts, ...ports],
      ...(foreignLink && { foreignLink }),
    }
  }

  /** Where packets of a node and, without a tunnel, of its pods come from. */
  #sourcesOf(node: Node): string[] {
    const { clusterCIDRs, isRouted } = this.#parts
    const { publicAddresses, podCIDRs } = peerWithin(clusterCIDRs, node)
    const addresses = [...publicAddresses, ...internalAddresses(node)].filter((text) => parseIP(text) !== undefined)
    return [...addresses.map((text) => `${text}/${text.includes(':') ? 128 : 32}`), ...(isRouted ? podCIDRs : [])]
  }
}

/** Takes the guard away; also that of a former process. */
export async function removeNodeGuard(linux: Linux): Promise<void> {
  using nftables = linux.openNftables()
  await nftables.commit(new NftTransaction().destroyTable(GUARD_TABLE))
}
