import { readFileSync } from 'node:fs'
import { isLoopback, parseIP } from '../base/ip-address.ts'

/** Where this machine asks for names. A node with a network of its own cannot reach those on the machine's loopback. */
export function upstreamDnsServers({ withLoopback = false } = {}): readonly string[] {
  const lines = readFileSync('/etc/resolv.conf', 'utf8').split('\n')
  const servers = lines.flatMap((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
  return servers.filter((server) => {
    const ip = parseIP(server)
    return ip && (withLoopback || !isLoopback(ip))
  })
}
