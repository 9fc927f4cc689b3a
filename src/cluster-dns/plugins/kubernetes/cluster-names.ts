/** What a name of the cluster's zone asks for, before anything is looked up. */
export type ClusterName =
  | { readonly about: 'zone' | 'version' | 'name-server' | 'unknown' }
  /** `svc.zone`, `ns.svc.zone`, `pod.zone`, `ns.pod.zone`: names without records of their own. */
  | { readonly about: 'branch'; readonly namespace?: string }
  | {
      readonly about: 'service'
      readonly namespace: string
      readonly service: string
      /** `_http._tcp` in front. */
      readonly port?: string
      readonly protocol?: string
      /** The host name of one endpoint in front. */
      readonly endpoint?: string
    }
  | { readonly about: 'pod'; readonly namespace: string; readonly address: string }

/** `name` is in `zone`, both in lower case. */
export function parseClusterName(name: string, zone: string): ClusterName {
  if (name === zone) return { about: 'zone' }
  const labels = name.slice(0, name.length - zone.length - 1).split('.')
  if (labels.length === 1 && labels[0] === 'dns-version') return { about: 'version' }
  if (labels.length === 2 && labels[0] === 'ns' && labels[1] === 'dns') return { about: 'name-server' }
  const kind = labels.pop()
  if (kind === 'svc') return parseService(labels)
  if (kind === 'pod') return parsePod(labels)
  return { about: 'unknown' }
}

/** Labels from the left, without the last two parts: `_http._tcp.web.default`. */
function parseService(labels: readonly string[]): ClusterName {
  const [namespace, service, second, first, ...more] = [...labels].reverse()
  if (namespace === undefined) return { about: 'branch' }
  if (service === undefined) return { about: 'branch', namespace }
  if (second === undefined) return { about: 'service', namespace, service }
  if (first === undefined) {
    // `_tcp.web.default.svc` has records below it, but none itself.
    if (second.startsWith('_')) return { about: 'branch', namespace }
    return { about: 'service', namespace, service, endpoint: second }
  }
  if (more.length > 0 || !first.startsWith('_') || !second.startsWith('_')) return { about: 'unknown' }
  return { about: 'service', namespace, service, port: first.slice(1), protocol: second.slice(1) }
}

function parsePod(labels: readonly string[]): ClusterName {
  const [namespace, address, ...more] = [...labels].reverse()
  if (namespace === undefined) return { about: 'branch' }
  if (address === undefined) return { about: 'branch', namespace }
  return more.length > 0 ? { about: 'unknown' } : { about: 'pod', namespace, address }
}

/** `10-1-2-3` -> `10.1.2.3`, `fd00--5` -> `fd00::5`; undefined if it is no address. */
export function addressOfLabel(label: string): string | undefined {
  if (/^\d+-\d+-\d+-\d+$/.test(label)) return label.replaceAll('-', '.')
  return /^[0-9a-f-]+$/.test(label) && label.includes('-') ? label.replaceAll('-', ':') : undefined
}

/** How an endpoint without a host name is called: its address, in letters a label may have. */
export const labelOfAddress = (address: string) => address.replace(/[.:]/g, '-')
