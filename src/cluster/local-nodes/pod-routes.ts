/** Each node's pods are reached from this machine through that node: answers must come back the way that was asked. */
import type { Node } from '../../api/generated/core-v1.ts'
import type { Informer } from '../../client/informer.ts'
import type { LocalNetwork, LocalNode } from './local-network.ts'

/** Follows the ranges that the cluster gives its nodes. */
export function followPodRanges(
  network: Pick<LocalNetwork, 'route' | 'unroute'>,
  nodes: readonly LocalNode[],
  informer: Pick<Informer<Node>, 'onChange'>,
): void {
  informer.onChange((old, current) => {
    const node = nodes.find(({ name }) => name === (current ?? old)?.metadata.name)
    if (!node) return
    const [before, after] = [rangesOf(old), rangesOf(current)]
    for (const range of before) if (!after.includes(range)) network.unroute(range, node)
    for (const range of after) if (!before.includes(range)) network.route(range, node)
  })
}

/** The network of the nodes has IPv4 only. */
const rangesOf = (node: Node | undefined) => (node?.spec?.podCIDRs ?? []).filter((range) => !range.includes(':'))
