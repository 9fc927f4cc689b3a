import type { Node } from '../../api/generated/core-v1.ts'
import type { Linux } from '../../linux/linux.ts'
import { isWithin, type NetworkFacts, networkFacts } from '../network-facts.ts'
import { ANNOTATIONS } from '../peers/annotations.ts'
import { internalAddresses, podCIDRsOf } from '../peers/peer-of-node.ts'
import type { BackendNode } from '../pod-network.ts'

/** What this node's own network is made from: its Node object, and what the kernel says. */
export interface OwnNode {
  readonly name: string
  readonly uid: string
  readonly podCIDRs: readonly string[]
  readonly publicAddresses: readonly string[]
  readonly uplink: NetworkFacts['uplink']
}

/** `except` are the links of the pod network itself. */
export function ownNode(linux: Linux, node: Node, clusterCIDRs: readonly string[], except: readonly string[]): OwnNode {
  const internal = internalAddresses(node)
  const facts = networkFacts(linux, { nodeAddresses: internal, except })
  const candidates = [...internal, ...facts.addresses].filter((address) => !isWithin(clusterCIDRs, address))
  const ofFamily = (isIPv6: boolean) => candidates.find((address) => address.includes(':') === isIPv6)
  return {
    name: node.metadata.name ?? '',
    uid: node.metadata.uid ?? '',
    podCIDRs: podCIDRsOf(node),
    publicAddresses: [ofFamily(false), ofFamily(true)].filter((address) => address !== undefined),
    uplink: facts.uplink,
  }
}

export function backendNode({ uplink, ...own }: OwnNode): BackendNode {
  if (!uplink) throw new Error('no link of this node leads to other nodes: none has an address')
  return { ...own, uplink, annotations: {} }
}

/** What of the wanted annotations the Node lacks; an address that was overwritten by hand is published as such. */
export function missingAnnotations(node: Node, wanted: Readonly<Record<string, string>>): Record<string, string> {
  const present = node.metadata.annotations ?? {}
  const overwritten: Record<string, string | undefined> = {
    [ANNOTATIONS.publicIP]: present[ANNOTATIONS.publicIPOverwrite],
    [ANNOTATIONS.publicIPv6]: present[ANNOTATIONS.publicIPv6Overwrite],
  }
  const missing: Record<string, string> = {}
  for (const [name, value] of Object.entries(wanted)) {
    const published = overwritten[name] ?? value
    if (present[name] !== published) missing[name] = published
  }
  return missing
}
