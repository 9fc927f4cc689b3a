import type { HostAlias } from '../../api/generated/core-v1.ts'
import type { PodHostname } from './hostname.ts'

const HEADER = '# Kubernetes-managed hosts file.\n'
const LOCAL = `127.0.0.1	localhost
::1	localhost ip6-localhost ip6-loopback
fe00::0	ip6-localnet
fe00::0	ip6-mcastprefix
fe00::1	ip6-allnodes
fe00::2	ip6-allrouters
`

/** /etc/hosts of a pod with its own network. */
export function podHostsFile(
  podIPs: readonly string[],
  { hostname, domain }: PodHostname,
  aliases: readonly HostAlias[] = [],
): string {
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`
  return HEADER + LOCAL + podIPs.map((ip) => `${ip}\t${names}\n`).join('') + aliasLines(aliases)
}

/** With the node's network: what the node says, and the pod's aliases. */
export function hostNetworkHostsFile(nodeFile: string, aliases: readonly HostAlias[] = []): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeFile}${aliasLines(aliases)}`
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return ''
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`)
  return `\n# Entries added by HostAliases.\n${lines.join('')}`
}
