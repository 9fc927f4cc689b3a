import type { Node } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { type CIDR, parseCIDR } from '../../base/ip-address.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { CidrSet } from './cidr-set.ts'

export interface NodeIpamOptions {
  /** One per address family; what pods' addresses come from. */
  readonly clusterCidrs?: readonly string[]
}

const DEFAULT_CLUSTER_CIDRS = ['10.244.0.0/16']
const NODE_PREFIX_LENGTH = { IPv4: 24, IPv6: 64 }
/** As many as nodes are registered at once: they are worked on while they are fresh. */
const WORKERS = 64

/** Gives each node its own part of the cluster's range of pod addresses. */
export function nodeIpamController({
  client,
  informers,
  events,
  clusterCidrs,
}: ControllerContext & NodeIpamOptions): Controller {
  const nodes = informers.informer(nodeKind)
  const sets = (clusterCidrs ?? DEFAULT_CLUSTER_CIDRS).map(setOf)

  /** Taken for a node, and not yet seen on it. */
  const reserved = new Map<string, readonly string[]>()

  async function reconcile(name: string): Promise<void> {
    const node = nodes.get(name)
    if (!node || node.metadata.deletionTimestamp !== undefined || cidrsOf(node).length > 0 || reserved.has(name)) return
    const podCIDRs = reserve(name)
    if (!podCIDRs) {
      events.event(node, 'Normal', 'CIDRNotAvailable', `Node ${name} status is now: CIDRNotAvailable`)
      throw new Error(`there is no range of pod addresses left for node ${name}`)
    }
    try {
      const { uid = '' } = node.metadata
      await client.resource(nodeKind).patch(name, { metadata: { uid }, spec: { podCIDR: podCIDRs[0], podCIDRs } })
    } catch (error) {
      unreserve(name)
      throw error
    }
  }

  /** One range of each family, or none at all. */
  function reserve(name: string): readonly string[] | undefined {
    const taken: string[] = []
    for (const set of sets) {
      const cidr = set.take()
      if (cidr !== undefined) taken.push(cidr)
    }
    reserved.set(name, taken)
    if (taken.length === sets.length) return taken
    unreserve(name)
    return undefined
  }

  function unreserve(name: string): void {
    release(reserved.get(name) ?? [])
    reserved.delete(name)
  }

  function release(cidrs: readonly string[]): void {
    for (const cidr of cidrs) for (const set of sets) set.release(cidr)
  }

  return {
    name: 'node-ipam-controller',
    workers: WORKERS,
    watches: [
      watch(nodes, (old, current) => {
        const before = cidrsOf(old)
        const after = cidrsOf(current)
        if (before.join() !== after.join()) {
          for (const cidr of after) for (const set of sets) set.hold(cidr)
          release(before)
        }
        if (!current || after.length > 0) unreserve((current ?? old)!.metadata.name ?? '')
        return current && after.length === 0 ? ownKey(old, current) : []
      }),
    ],
    reconcile,
  }
}

const cidrsOf = (node: Node | undefined): readonly string[] => node?.spec?.podCIDRs ?? []

function setOf(text: string): CidrSet {
  const cluster: CIDR | undefined = parseCIDR(text)
  if (!cluster) throw new Error(`${text} is not an address range such as 10.244.0.0/16`)
  return new CidrSet(cluster, Math.max(NODE_PREFIX_LENGTH[cluster.family], cluster.prefixLength))
}
