/** Words of which rules are made. A rule is what follows the name of its chain: `-s 10.0.0.1 -j KUBE-MARK-MASQ`. */
import { cidrContains, type IPFamily, parseCIDR, parseIP } from '../../base/ip-address.ts'
import type { LocalTrafficDetector } from '../backend.ts'
import type { Protocol } from '../service-port.ts'

export const comment = (text: string) => `-m comment --comment "${text}"`

/** `-m tcp -p tcp -d 10.96.0.1 --dport 80` */
export function toPort(protocol: Protocol, port: number, ip?: string): string {
  const name = protocol.toLowerCase()
  return `-m ${name} -p ${name}${ip === undefined ? '' : ` -d ${ip}`} --dport ${port}`
}

/** A reset ends a TCP handshake at once; an ICMP error that comes while the client still sends would be overheard. */
export const rejectOf = (protocol: Protocol) => (protocol === 'TCP' ? 'REJECT --reject-with tcp-reset' : 'REJECT')

export const isOfFamily = (text: string, family: IPFamily) => text.includes(':') === (family === 'IPv6')

export const contains = (cidr: string, ip: string): boolean => {
  const range = parseCIDR(cidr)
  const address = parseIP(ip)
  return range !== undefined && address?.family === range.family && cidrContains(range, address)
}

/** Each is a match for packets that pods sent: any of them is enough. None if that cannot be told. */
export function podMatches(detector: LocalTrafficDetector, family: IPFamily): string[] {
  switch (detector.by) {
    case 'cidr':
      return detector.cidrs.filter((cidr) => isOfFamily(cidr, family)).map((cidr) => `-s ${cidr}`)
    case 'bridge':
      return [`-i ${detector.name}`]
    case 'interface-prefix':
      return [`-i ${detector.prefix}+`]
    case 'none':
      return []
  }
}
