import { ApiError } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import type { ResourceType, Transport } from '../../client/transport.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'

const SERVICES: ResourceType = { group: '', version: 'v1', plural: 'services', namespaced: true }
const ENDPOINTS: ResourceType = { group: '', version: 'v1', plural: 'endpoints', namespaced: true }
const SLICES: ResourceType = { group: 'discovery.k8s.io', version: 'v1', plural: 'endpointslices', namespaced: true }
const NAMESPACE = 'default'
const NAME = 'kubernetes'
const KEY = `${NAMESPACE}/${NAME}`

/** The Service by which pods reach the API. It takes its address as every Service does: from the allocator. */
export async function ensureKubernetesService(
  feed: CacheFeed,
  transport: Transport,
  clusterIP: string,
  targetPort: number,
): Promise<void> {
  const prefix = storagePrefix(SERVICES)
  if ((await feed.cache(prefix)).get(prefix + KEY)) return
  const body = {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name: NAME, namespace: NAMESPACE, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      type: 'ClusterIP',
      clusterIP,
      ipFamilyPolicy: 'SingleStack',
      sessionAffinity: 'None',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort }],
    },
  }
  await transport.call({ verb: 'create', resource: SERVICES, namespace: NAMESPACE, body }).catch((error) => {
    // Another API server on the same store may have been faster.
    if (!(error instanceof ApiError && error.code === 409)) throw error
  })
}

export interface Address {
  readonly host: string
  readonly port: number
}

/** What the Service leads to: the same for all who know of the same servers, whoever writes it. */
export function kubernetesEndpoints(servers: readonly Address[]): KubernetesObject[] {
  const sorted = [...servers].sort((a, b) => (a.host < b.host ? -1 : a.host > b.host ? 1 : a.port - b.port))
  const byPort = groupByPort(sorted)
  const metadata = { name: NAME, namespace: NAMESPACE }
  const endpoints = {
    kind: 'Endpoints',
    apiVersion: 'v1',
    metadata: { ...metadata, labels: { [LABEL.skipMirror]: 'true' } },
    subsets: byPort.map(({ port, hosts }) => ({ addresses: hosts.map((ip) => ({ ip })), ports: [https(port)] })),
  }
  // A slice has one set of ports: servers on another port than the first are in the Endpoints alone.
  const { port, hosts } = byPort[0]!
  const family = hosts[0]!.includes(':') ? 'IPv6' : 'IPv4'
  const slice = {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: { ...metadata, labels: { [LABEL.serviceName]: NAME } },
    addressType: family,
    endpoints: hosts
      .filter((host) => host.includes(':') === (family === 'IPv6'))
      .map((host) => ({ addresses: [host], conditions: { ready: true } })),
    ports: [https(port)],
  }
  return [endpoints, slice]
}

const https = (port: number) => ({ name: 'https', port, protocol: 'TCP' })

function groupByPort(servers: readonly Address[]): { port: number; hosts: string[] }[] {
  const groups = new Map<number, string[]>()
  for (const { host, port } of servers) getOrCreate(groups, port, () => []).push(host)
  return [...groups].map(([port, hosts]) => ({ port, hosts }))
}

/** Points the Service to these servers, if it leads elsewhere. */
export async function publishKubernetesEndpoints(
  feed: CacheFeed,
  transport: Transport,
  servers: readonly Address[],
): Promise<void> {
  const [endpoints, slice] = kubernetesEndpoints(servers)
  await Promise.all([
    put(feed, transport, ENDPOINTS, endpoints!, 'subsets'),
    put(feed, transport, SLICES, slice!, 'endpoints', 'ports', 'addressType'),
  ])
}

async function put(
  feed: CacheFeed,
  transport: Transport,
  resource: ResourceType,
  body: KubernetesObject,
  ...fields: string[]
): Promise<void> {
  const prefix = storagePrefix(resource)
  const found = (await feed.cache(prefix)).get(prefix + KEY)?.object
  if (found && fields.every((field) => deepEqual(fieldOf(found, field), fieldOf(body, field)))) return
  await transport.call({
    verb: 'patch',
    resource,
    namespace: NAMESPACE,
    name: NAME,
    patchType: 'application/apply-patch+yaml',
    query: { fieldManager: 'apiserver', force: 'true' },
    body,
  })
}

const fieldOf = (object: KubernetesObject, field: string) => (object as unknown as Record<string, unknown>)[field]
