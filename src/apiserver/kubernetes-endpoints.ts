import type { ResourceType, Transport } from '../client/transport.ts'

const ENDPOINTS: ResourceType = { group: '', version: 'v1', plural: 'endpoints', namespaced: true }
const SLICES: ResourceType = { group: 'discovery.k8s.io', version: 'v1', plural: 'endpointslices', namespaced: true }

/** Points the Service `default/kubernetes` to this server. Addresses of other servers on the same store stay. */
export async function publishKubernetesEndpoints(transport: Transport, address: string, port: number): Promise<void> {
  const metadata = { name: 'kubernetes', namespace: 'default' }
  const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' }
  await put(transport, ENDPOINTS, {
    kind: 'Endpoints',
    apiVersion: 'v1',
    metadata: { ...metadata, labels },
    subsets: [{ addresses: [{ ip: address }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
  })
  await put(transport, SLICES, {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  })
}

async function put(transport: Transport, resource: ResourceType, body: object): Promise<void> {
  await transport.call({
    verb: 'patch',
    resource,
    namespace: 'default',
    name: 'kubernetes',
    patchType: 'application/apply-patch+yaml',
    query: { fieldManager: 'apiserver', force: 'true' },
    body,
  })
}
