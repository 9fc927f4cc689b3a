import { createHash } from 'node:crypto'
import { addressBits, parseIP } from '../../base/ip-address.ts'

export const isIPv6 = (address: string) => address.includes(':')

/** `10.244.0.5/32`: nothing but the address itself is on the link, so that every packet passes the node. */
export const asHost = (address: string) => `${address}/${addressBits(isIPv6(address) ? 'IPv6' : 'IPv4')}`

export const anywhere = (address: string) => (isIPv6(address) ? '::/0' : '0.0.0.0/0')

/**
 * The hardware address that belongs to an IP address. The next pod with the same address has the same one, so nobody's
 * neighbour table is ever wrong. (0a:58 is what Kubernetes' own bridges have always begun with.)
 */
export function hardwareAddressOf(address: string): string {
  const value = parseIP(address)!.value
  const bytes = [24n, 16n, 8n, 0n].map((shift) => Number((value >> shift) & 0xffn))
  return ['0a', '58', ...bytes.map((byte) => byte.toString(16).padStart(2, '0'))].join(':')
}

/** The name of the node's end of a pod's veth pair: the same after a restart. */
export const vethName = (sandboxId: string) =>
  `veth${createHash('sha256').update(sandboxId).digest('hex').slice(0, 11)}`
