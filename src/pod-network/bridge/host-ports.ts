import type { Conntrack } from '../../linux/conntrack.ts'
import type { NftTransaction } from '../../linux/nft-transaction.ts'
import { encodeValues } from '../../linux/nft-values.ts'
import type { NftElement, NftSet } from '../../linux/nftables.ts'
import { hasCode } from '../../linux/system-error.ts'
import type { HostPort } from '../pod-network.ts'
import { IPV4, IPV6 } from '../rules/match.ts'
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts'
import { isIPv6 } from './addresses.ts'
import { hairpins, hostAddressPorts, hostPorts } from './rules.ts'

const PROTOCOLS = { TCP: 6, UDP: 17, SCTP: 132 } as const

interface PlacedElement {
  readonly set: NftSet
  readonly element: NftElement
}

/** Which sandbox has which ports of the node, and the elements of the packet filter that lead there. */
export class HostPorts {
  readonly #owners = new Map<string, string>()

  /** Throws if another sandbox has one of the ports; then none is claimed. */
  claim({ pod: { sandboxId, hostPorts: ports = [] } }: SandboxRecord): void {
    for (const port of ports) {
      const owner = this.#owners.get(portKey(port))
      if (owner !== undefined && owner !== sandboxId) {
        throw new Error(`host port ${port.hostPort}/${port.protocol} is in use by sandbox ${owner}`)
      }
    }
    for (const port of ports) this.#owners.set(portKey(port), sandboxId)
  }

  release({ pod: { sandboxId, hostPorts: ports = [] } }: SandboxRecord): void {
    for (const port of ports) if (this.#owners.get(portKey(port)) === sandboxId) this.#owners.delete(portKey(port))
  }
}

const portKey = ({ hostIP = '', protocol, hostPort }: HostPort) =>
  `${isUnspecified(hostIP) ? '' : hostIP}|${protocol}|${hostPort}`

const isUnspecified = (hostIP: string) => hostIP === '' || hostIP === '0.0.0.0' || hostIP === '::'

export function addHostPorts(transaction: NftTransaction, record: SandboxRecord): NftTransaction {
  for (const { set, element } of elementsOf(record)) transaction.addElements(set, [element])
  return transaction
}

export function removeHostPorts(transaction: NftTransaction, record: SandboxRecord): NftTransaction {
  for (const { set, element } of elementsOf(record)) transaction.deleteElements(set, [element])
  return transaction
}

function elementsOf({ pod, addresses }: SandboxRecord): PlacedElement[] {
  const ports = new Map((pod.hostPorts ?? []).map((port) => [portKey(port), port]))
  return addresses.flatMap((address) => {
    const leading = [...ports.values()].flatMap((port) => elementFor(port, address) ?? [])
    if (leading.length === 0) return []
    const set = hairpins(isIPv6(address) ? IPV6 : IPV4)
    return [...leading, { set, element: { key: encodeValues(set.key, [address, address]) } }]
  })
}

/** Undefined if the host address is of the other family. */
function elementFor(port: HostPort, address: string): PlacedElement | undefined {
  const { hostIP = '', protocol, hostPort, containerPort } = port
  if (hostIP !== '' && isIPv6(hostIP) !== isIPv6(address)) return undefined
  const layout = isIPv6(address) ? IPV6 : IPV4
  const data = encodeValues([layout.type, 'inet_service'], [address, containerPort])
  const key = [PROTOCOLS[protocol], hostPort]
  if (isUnspecified(hostIP)) {
    const set = hostPorts(layout)
    return { set, element: { key: encodeValues(set.key, key), data } }
  }
  const set = hostAddressPorts(layout)
  return { set, element: { key: encodeValues(set.key, [hostIP, ...key]), data } }
}

/** A UDP flow goes where it went before as long as packets come: after a change of the ports it must be forgotten. */
export function forgetFlows(conntrack: Conntrack, { pod, addresses }: SandboxRecord): void {
  for (const { protocol, hostPort } of pod.hostPorts ?? []) {
    if (protocol !== 'UDP') continue
    for (const family of new Set(addresses.map((address) => (isIPv6(address) ? 'ip6' : 'ip') as 'ip' | 'ip6'))) {
      const filter = { protocol: PROTOCOLS.UDP, destinationPort: hostPort }
      for (const flow of conntrack.list(family, filter)) deleteFlow(conntrack, flow)
    }
  }
}

function deleteFlow(conntrack: Conntrack, flow: Parameters<Conntrack['delete']>[0]): void {
  try {
    conntrack.delete(flow)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}
