import type { Pod } from '../../api/generated/core-v1.ts'
import type { DnsConfig } from '../../container-runtime/sandbox-config.ts'

export interface DnsSettings {
  /** The addresses of the cluster's name servers. */
  readonly clusterDns: readonly string[]
  readonly clusterDomain: string
  /** What the node itself uses. */
  readonly host: DnsConfig
}

const MAX_SERVERS = 3
const MAX_SEARCHES = 32
const MAX_SEARCH_CHARACTERS = 2048

/** What a pod's resolv.conf says: by its policy, then what it asks for besides. */
export function podDns({ spec, metadata }: Pod, settings: DnsSettings): DnsConfig {
  const base = baseOf(spec?.dnsPolicy ?? 'ClusterFirst', spec?.hostNetwork === true, metadata.namespace ?? '', settings)
  const { nameservers = [], searches = [], options = [] } = spec?.dnsConfig ?? {}
  const own = options.map(({ name = '', value }) => (value === undefined ? name : `${name}:${value}`))
  const overridden = new Set(options.map(({ name = '' }) => name))
  return {
    servers: unique([...base.servers, ...nameservers]).slice(0, MAX_SERVERS),
    searches: withinLimits(unique([...base.searches, ...searches])),
    options: [...base.options.filter((option) => !overridden.has(option.split(':')[0]!)), ...own],
  }
}

function baseOf(policy: string, hostNetwork: boolean, namespace: string, settings: DnsSettings): DnsConfig {
  const { clusterDns, clusterDomain, host } = settings
  if (policy === 'None') return { servers: [], searches: [], options: [] }
  const usesCluster = policy === 'ClusterFirstWithHostNet' || (policy === 'ClusterFirst' && !hostNetwork)
  if (!usesCluster || clusterDns.length === 0) return host
  const own = clusterDomain === '' ? [] : [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain]
  return { servers: clusterDns, searches: [...own, ...host.searches], options: ['ndots:5'] }
}

const unique = (list: readonly string[]) => [...new Set(list)]

function withinLimits(searches: readonly string[]): string[] {
  const kept = searches.slice(0, MAX_SEARCHES)
  while (kept.join(' ').length > MAX_SEARCH_CHARACTERS) kept.pop()
  return kept
}

/** What resolv.conf says that matters to pods. */
export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = []
  let searches: string[] = []
  let options: string[] = []
  for (const line of text.split('\n')) {
    const [word, ...rest] = line.trim().split(/\s+/)
    if (word === 'nameserver' && rest[0]) servers.push(rest[0])
    else if (word === 'search') searches = rest.filter((domain) => domain !== '.')
    else if (word === 'options') options = rest
  }
  return { servers: servers.slice(0, MAX_SERVERS), searches, options }
}
