import type { Linux } from '../../linux/linux.ts'
import type { AgreedConfiguration } from '../node/agreed-configuration.ts'
import { UserError } from '../user-error.ts'
import { overlap } from './network-ranges.ts'

/** The bridge of a node's pods, by the name that most pod networks give it. */
const POD_BRIDGE = 'cni0'

type Ranges = Pick<AgreedConfiguration, 'clusterCidrs' | 'serviceCidrs'>

/** A machine that becomes a node must not have the addresses of pods and Services elsewhere already. */
export function assertNetworkFree(linux: Linux, { clusterCidrs, serviceCidrs }: Ranges): void {
  using network = linux.openRtnetlink()
  if (network.link(POD_BRIDGE))
    throw new UserError(`this machine has a bridge ${POD_BRIDGE}: it is, or was, a node of another cluster`, [
      'Stop that one first (sampan down, kubeadm reset).',
      `If nothing uses the bridge any more: ip link delete ${POD_BRIDGE}`,
    ])
  const links = new Map(network.links().map(({ index, name }) => [index, name]))
  const known = [
    ...network.addresses().map(({ address, link }) => ({ range: address, link })),
    ...network.routes().map(({ destination, link }) => ({ range: destination, link })),
  ]
  for (const [cidrs, whose] of [
    [clusterCidrs, 'pods'],
    [serviceCidrs, 'Services'],
  ] as const) {
    for (const cidr of cidrs) {
      const found = known.find(({ range }) => overlap(cidr, range))
      if (!found) continue
      const link = found.link === undefined ? '' : ` on ${links.get(found.link)}`
      throw new UserError(`${cidr}, where ${whose} of the cluster have their addresses, meets ${found.range}${link}`, [
        'Is it of another cluster on this machine? Stop that one first: sampan down',
      ])
    }
  }
}
