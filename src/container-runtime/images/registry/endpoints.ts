/** Where a registry is asked: its mirrors first, then itself. */

/** Choices of the node's owner. Hosts are with or without a port; without, every port is meant. */
export interface RegistryOptions {
  /** `docker.io` -> `['https://mirror.example']`; tried in order before the registry itself. */
  readonly mirrors?: Readonly<Record<string, readonly string[]>>
  /** May be asked without TLS, or with a certificate nobody vouches for. */
  readonly insecure?: readonly string[]
  /** Where registries on the loopback of the machine are, for a node with a network of its own. */
  readonly loopback?: string
}

export interface Endpoint {
  /** `https://registry-1.docker.io`. */
  readonly base: string
  readonly verify: boolean
  /** Credentials for the registry are not for its mirrors. */
  readonly isMirror: boolean
}

const DOCKER_HUB_HOST = 'registry-1.docker.io'
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/

export function endpointsOf(domain: string, options: RegistryOptions): Endpoint[] {
  const endpoints: Endpoint[] = []
  for (const mirror of options.mirrors?.[domain] ?? options.mirrors?.['*'] ?? [])
    endpoints.push(...ofMirror(mirror, options))
  const isMirror = false
  if (LOOPBACK.test(domain)) {
    endpoints.push({ base: `http://${domain}`, verify: false, isMirror })
    endpoints.push({ base: `https://${domain}`, verify: false, isMirror })
    const port = /:\d+$/.exec(domain)?.[0] ?? ''
    if (options.loopback) endpoints.push({ base: `http://${options.loopback}${port}`, verify: false, isMirror })
  } else endpoints.push(...ofHost(domain === 'docker.io' ? DOCKER_HUB_HOST : domain, options, isMirror))
  return endpoints
}

function ofMirror(mirror: string, options: RegistryOptions): Endpoint[] {
  const [, scheme, host] = /^(https?):\/\/([^/]+)\/?$/.exec(mirror) ?? []
  if (!scheme || !host) return ofHost(mirror, options, true)
  return [{ base: `${scheme}://${host}`, verify: !isInsecure(host, options), isMirror: true }]
}

function ofHost(host: string, options: RegistryOptions, isMirror: boolean): Endpoint[] {
  if (!isInsecure(host, options)) return [{ base: `https://${host}`, verify: true, isMirror }]
  return ['https', 'http'].map((scheme) => ({ base: `${scheme}://${host}`, verify: false, isMirror }))
}

const isInsecure = (host: string, { insecure = [] }: RegistryOptions) =>
  insecure.includes(host) || insecure.includes(host.replace(/:\d+$/, ''))
