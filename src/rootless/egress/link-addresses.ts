import { readFileSync } from 'node:fs'
import { parseIP } from '../../base/ip-address.ts'

/** The link between inside and outside, in a range that no other network uses. */
export const INSIDE = '169.254.77.1'
export const OUTSIDE = '169.254.77.2'
export const LINK_PREFIX = 30
/** Stands inside for the machine's name server, which may listen on loopback. */
export const NAMESERVER = OUTSIDE

/** Reads the machine's name servers. Not cached: the machine may move to another network. */
export function nameservers(file = '/etc/resolv.conf'): readonly string[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  const servers = lines.flatMap((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
  return servers.filter((server) => parseIP(server)?.family === 'IPv4')
}
