import type { Node } from '../../api/generated/core-v1.ts'

/** The cluster autoscaler is about to take the node away: load balancers should stop sending. */
const TO_BE_DELETED_TAINT = 'ToBeDeletedByClusterAutoscaler'

/** Whether load balancers may send to the node. */
export const isEligible = (node: Node | undefined) =>
  node !== undefined &&
  node.metadata.deletionTimestamp === undefined &&
  !node.spec?.taints?.some(({ key }) => key === TO_BE_DELETED_TAINT)

/** A Node without what the proxy does not need; of other nodes it needs the addresses alone. */
export const slimNode =
  (own: string) =>
  (node: Node): Node => {
    const { name, uid, resourceVersion, labels, deletionTimestamp } = node.metadata
    const isOwn = name === own
    return {
      apiVersion: node.apiVersion,
      kind: node.kind,
      metadata: { name, uid, resourceVersion, ...(isOwn && { labels, deletionTimestamp }) },
      spec: isOwn ? { taints: node.spec?.taints } : {},
      status: { addresses: node.status?.addresses },
    } as Node
  }

/** Internal addresses first, then external ones, as they stand in the Node. */
export function nodeAddresses(node: Node | undefined): readonly string[] {
  const addresses = node?.status?.addresses ?? []
  const ofType = (wanted: string) => addresses.filter(({ type }) => type === wanted).map(({ address }) => address)
  return [...ofType('InternalIP'), ...ofType('ExternalIP')]
}
