/** Each node's pods are reached from this machine through that node: answers must come back the way that was asked. */
import type { Node } from '../../api/generated/core-v1.ts'
import { type Informer, startInformer } from '../../client/informer.ts'
import type { LocalNetwork, LocalNode } from './local-network.ts'

export type PodRoutesNetwork = Pick<LocalNetwork, 'routePods' | 'unroutePods'>

type Connection = Omit<Parameters<typeof startInformer<Node>>[0], 'resource'>

const NODES = { group: '', version: 'v1', plural: 'nodes', namespaced: false }

/** Follows the ranges that the cluster gives its nodes, until disposed; the routes stay. */
export function startPodRoutes(network: PodRoutesNetwork, nodes: readonly LocalNode[], connection: Connection) {
  const informer = startInformer<Node>({ ...connection, resource: NODES })
  followPodRanges(network, nodes, informer)
  return informer as AsyncDisposable
}

export function followPodRanges(
  network: PodRoutesNetwork,
  nodes: readonly LocalNode[],
  informer: Pick<Informer<Node>, 'onChange'>,
): void {
  informer.onChange((old, current) => {
    const node = nodes.find(({ name }) => name === (current ?? old)?.metadata.name)
    if (!node) return
    const [before, after] = [rangesOf(old), rangesOf(current)]
    for (const range of before) if (!after.includes(range)) network.unroutePods(range, node)
    for (const range of after) if (!before.includes(range)) network.routePods(range, node)
  })
}

/** The network of the nodes has IPv4 only. */
const rangesOf = (node: Node | undefined) => (node?.spec?.podCIDRs ?? []).filter((range) => !range.includes(':'))
