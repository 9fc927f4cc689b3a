/**
 * The listeners of the proxy are ports of the node. A client could connect to one directly: from outside of the cluster, and past
 * the source ranges of the Service. The guard drops what the rules did not lead there.
 */
import type { IPFamily } from '../../base/ip-address.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import { encodeValues } from '../../linux/nft-values.ts'
import type { NftSet } from '../../linux/nftables.ts'
import { DROP, frontendKey, isNotRedirected, type Layout, layoutOf } from '../nftables/layout.ts'
import { PROTOCOL_NUMBERS, type Protocol } from '../service-port.ts'

export const LISTENER_TABLE_NAME = 'sampan-userspace-listeners'

export interface ListenerAddress {
  readonly family: IPFamily
  readonly ip: string
  readonly protocol: Protocol
  readonly port: number
}

const FAMILIES: readonly IPFamily[] = ['IPv4', 'IPv6']
const setOf = ({ table, address }: Layout): NftSet => ({
  table,
  name: 'listeners',
  key: [address, 'inet_proto', 'inet_service'],
})

export class ListenerGuard {
  #inEffect = new Map<string, ListenerAddress>()

  /** What makes it so that exactly these are guarded; all of it, if nothing is known of the kernel. */
  changes(listeners: Iterable<ListenerAddress>, isAnew: boolean): NftTransaction {
    const wanted = new Map(Array.from(listeners, (one) => [`${one.ip} ${one.protocol} ${one.port}`, one]))
    const before = isAnew ? new Map<string, ListenerAddress>() : this.#inEffect
    const added = [...wanted].filter(([name]) => !before.has(name)).map(([, one]) => one)
    const gone = [...before].filter(([name]) => !wanted.has(name)).map(([, one]) => one)
    const transaction = new NftTransaction()
    for (const family of FAMILIES) {
      const layout = layoutOf(family, LISTENER_TABLE_NAME)
      const keys = (all: readonly ListenerAddress[]) => all.filter((one) => one.family === family).map(keyIn(layout))
      if (isAnew) addTable(transaction, layout)
      if (keys(added).length > 0) transaction.addElements(setOf(layout), keys(added))
      if (keys(gone).length > 0) transaction.deleteElements(setOf(layout), keys(gone))
    }
    this.#inEffect = wanted
    return transaction
  }
}

function addTable(transaction: NftTransaction, layout: Layout): void {
  const { table } = layout
  const chain = { table, name: 'input' }
  const isListener = [...frontendKey(layout), { expr: 'lookup', set: 'listeners', from: 0 }] as const
  transaction
    .destroyTable(table)
    .addTable(table)
    .addSet(setOf(layout))
    .addChain({ ...chain, base: { type: 'filter', hook: 'input', priority: 0 } })
    .addRule(chain, { expressions: [...isNotRedirected, ...isListener, DROP] })
}

const keyIn =
  (layout: Layout) =>
  ({ ip, protocol, port }: ListenerAddress) => ({
    key: encodeValues(setOf(layout).key, [ip, PROTOCOL_NUMBERS[protocol], port]),
  })
