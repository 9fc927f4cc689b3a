import type { Node, Service } from '../../api/generated/core-v1.ts'
import type { Endpoint, EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { LABEL, NAMESPACE } from '../../api/meta/well-known.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { formatIP, parseIP } from '../../base/ip-address.ts'
import { type Controller, type ControllerContext, watch } from '../controller.ts'

/** Nodes that answer DNS queries of pods say so by this label. */
export const CLUSTER_DNS_LABEL = 'sampan.dev/cluster-dns'
/** Where they listen; the Service maps 53 to it. */
export const CLUSTER_DNS_PORT = 10053

const NAME = 'kube-dns'
const KEY = `${NAMESPACE.system}/${NAME}`
const MANAGED_BY = 'cluster-dns-controller.sampan.dev'
/** By custom the DNS Service has the tenth address of the range that `kubernetes` has the first of. */
const OFFSET = 9n

/**
 * Keeps the Service kube-dns: an address that leads to the DNS server of the pod's own node, and to another node's while
 * that one is away.
 */
export function clusterDnsController({ client, informers }: ControllerContext): Controller {
  const nodes = informers.informer(nodeKind)
  const services = informers.informer(serviceKind)
  const slices = informers.informer(endpointSliceKind)
  const answering = () => nodes.list().filter((node) => node.metadata.labels?.[CLUSTER_DNS_LABEL] === 'true')

  async function ensureService(): Promise<void> {
    const clusterIP = dnsAddress(services.get('default/kubernetes'))
    if (services.get(KEY) || clusterIP === undefined) return
    await client.resource(serviceKind).create(dnsService(clusterIP)).catch(ignoreExisting)
  }

  async function ensureSlice(): Promise<void> {
    const wanted = dnsSlice(answering())
    const known = slices.get(KEY)
    const resource = client.resource(endpointSliceKind)
    if (!known) await resource.create(wanted)
    else if (!deepEqual(known.endpoints, wanted.endpoints) || !deepEqual(known.ports, wanted.ports))
      await resource.update({ ...known, endpoints: wanted.endpoints, ports: wanted.ports! })
  }

  const isOurs = (object: { metadata: { namespace?: string; name?: string } } | undefined) =>
    object?.metadata.namespace === NAMESPACE.system && object.metadata.name === NAME
  const whenOurs = (old: Service | EndpointSlice | undefined, current: Service | EndpointSlice | undefined) =>
    isOurs(current ?? old) ? [KEY] : []
  return {
    name: 'cluster-dns-controller',
    watches: [
      watch(nodes, (old, current) => (concernsDns(old, current) ? [KEY] : [])),
      watch(services, (old, current) =>
        (current ?? old)?.metadata.name === 'kubernetes' ? [KEY] : whenOurs(old, current),
      ),
      watch(slices, whenOurs),
    ],
    async reconcile() {
      if (answering().length === 0 && !slices.get(KEY)) return
      await ensureService()
      await ensureSlice()
    },
  }
}

/** Heartbeats change nodes all the time; what DNS needs of them hardly ever. */
function concernsDns(old: Node | undefined, current: Node | undefined): boolean {
  return !deepEqual(old && endpointOf(old), current && endpointOf(current))
}

function dnsAddress(kubernetes: Service | undefined): string | undefined {
  const first = parseIP(kubernetes?.spec?.clusterIP ?? '')
  return first && formatIP({ family: first.family, value: first.value + OFFSET })
}

const PORTS = [
  { name: 'dns', port: 53, protocol: 'UDP', targetPort: CLUSTER_DNS_PORT },
  { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: CLUSTER_DNS_PORT },
] as const

function dnsService(clusterIP: string): Service {
  return {
    metadata: {
      name: NAME,
      namespace: NAMESPACE.system,
      labels: {
        'k8s-app': 'kube-dns',
        'kubernetes.io/cluster-service': 'true',
        'kubernetes.io/name': 'CoreDNS',
      },
    },
    spec: { clusterIP, ports: [...PORTS], trafficDistribution: 'PreferSameNode' },
  }
}

function dnsSlice(nodes: readonly Node[]): EndpointSlice {
  const endpoints = nodes.flatMap((node) => endpointOf(node) ?? [])
  return {
    metadata: {
      name: NAME,
      namespace: NAMESPACE.system,
      labels: { [LABEL.serviceName]: NAME, [LABEL.sliceManagedBy]: MANAGED_BY },
    },
    addressType: 'IPv4',
    endpoints: endpoints.sort((a, b) => (a.nodeName! < b.nodeName! ? -1 : 1)),
    ports: PORTS.map(({ name, protocol }) => ({ name, protocol, port: CLUSTER_DNS_PORT })),
  }
}

function endpointOf(node: Node): Endpoint | undefined {
  const address = node.status?.addresses?.find(({ type, address }) => type === 'InternalIP' && !address.includes(':'))
  if (!address || node.metadata.labels?.[CLUSTER_DNS_LABEL] !== 'true') return undefined
  const ready = node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
  const zone = node.metadata.labels[LABEL.zone]
  return {
    addresses: [address.address],
    nodeName: node.metadata.name!,
    conditions: { ready, serving: ready, terminating: false },
    hints: { forNodes: [{ name: node.metadata.name! }], ...(zone && { forZones: [{ name: zone }] }) },
    ...(zone && { zone }),
  }
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof ApiError && error.code === 409)) throw error
}
