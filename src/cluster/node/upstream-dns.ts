import { readFileSync } from 'node:fs'
import { isLoopback, parseIP } from '../../base/ip-address.ts'

const RESOLV_CONF = '/etc/resolv.conf'
/** Where systemd-resolved says whom it asks itself, for those who cannot reach it on loopback. */
const BEHIND_THE_STUB = '/run/systemd/resolve/resolv.conf'

/**
 * Where this machine asks for names. Pods and nodes with a network of their own cannot reach what listens on its loopback:
 * such servers are named only where nothing is known of those behind them.
 */
export function upstreamDnsServers(files: readonly string[] = [RESOLV_CONF, BEHIND_THE_STUB]): readonly string[] {
  const [own = [], ...others] = files.map(nameservers)
  const reachable = own.filter((server) => !isLoopbackAddress(server))
  if (reachable.length > 0) return reachable
  const behind = others.flat().filter((server) => !isLoopbackAddress(server))
  return behind.length > 0 ? behind : own
}

/** What this machine's resolv.conf would say if it named these servers: for pods that ask as their node does. */
export const resolvConfWith = (servers: readonly string[], file = RESOLV_CONF) =>
  [
    ...servers.map((server) => `nameserver ${server}`),
    ...readIfThere(file)
      .split('\n')
      .filter((line) => /^\s*(search|options)\s/.test(line)),
    '',
  ].join('\n')

export function isLoopbackAddress(text: string): boolean {
  const ip = parseIP(text)
  return ip !== undefined && isLoopback(ip)
}

function nameservers(file: string): string[] {
  return readIfThere(file)
    .split('\n')
    .flatMap((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
    .filter((server) => parseIP(server) !== undefined)
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
