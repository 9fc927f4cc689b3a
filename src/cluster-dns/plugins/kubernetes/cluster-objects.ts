import type { Namespace, Pod, Service } from '../../../api/generated/core-v1.ts'
import type { Endpoint, EndpointSlice } from '../../../api/generated/discovery-v1.ts'
import { namespaceKind } from '../../../api/kinds/core/namespace.ts'
import { podKind } from '../../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../../api/kinds/discovery/endpoint-slice.ts'
import { formatIP, parseIP } from '../../../base/ip-address.ts'
import type { Informer } from '../../../client/informer.ts'
import type { InformerFactory } from '../../../client/informer-factory.ts'

/** The objects names are made of, found by what queries ask for. */
export interface ClusterObjects {
  isSynced(): boolean
  namespace(name: string): Namespace | undefined
  service(namespace: string, name: string): Service | undefined
  servicesByAddress(address: string): readonly Service[]
  slices(namespace: string, service: string): readonly EndpointSlice[]
  slicesByAddress(address: string): readonly EndpointSlice[]
  /** Only where pods are watched. */
  podsByAddress(address: string): readonly Pod[]
}

const SERVICE_NAME = 'kubernetes.io/service-name'
/** Informers may be shared, so indexes have names that say whose they are. */
const ADDRESS = 'dns-address'
const SERVICE = 'dns-service'

/** Follows the cluster. `pods`: whether to know them too, which costs memory and serves `pods verified` only. */
export function followCluster(informers: InformerFactory, options: { readonly pods: boolean }): ClusterObjects {
  const namespaces = informers.informer(namespaceKind)
  const services = informers.informer(serviceKind, { indexes: { [ADDRESS]: serviceAddresses } })
  const slices = informers.informer(endpointSliceKind, {
    indexes: { [SERVICE]: sliceService, [ADDRESS]: sliceAddresses },
  })
  const pods = options.pods ? informers.informer(podKind, { indexes: { [ADDRESS]: podAddresses } }) : undefined
  let synced = false
  const all: Pick<Informer, 'synced'>[] = [namespaces, services, slices, ...(pods ? [pods] : [])]
  void Promise.all(all.map((informer) => informer.synced)).then(
    () => {
      synced = true
    },
    () => {},
  )
  return {
    isSynced: () => synced,
    namespace: (name) => namespaces.get(name),
    service: (namespace, name) => services.get(`${namespace}/${name}`),
    servicesByAddress: (address) => services.byIndex(ADDRESS, canonical(address)),
    slices: (namespace, service) => slices.byIndex(SERVICE, `${namespace}/${service}`),
    slicesByAddress: (address) => slices.byIndex(ADDRESS, canonical(address)),
    podsByAddress: (address) => pods?.byIndex(ADDRESS, canonical(address)) ?? [],
  }
}

function serviceAddresses({ spec }: Service): string[] {
  return (spec?.clusterIPs ?? [spec?.clusterIP ?? '']).filter((ip) => ip !== '' && ip !== 'None').map(canonical)
}

function sliceService({ metadata }: EndpointSlice): string[] {
  const service = metadata.labels?.[SERVICE_NAME]
  return service ? [`${metadata.namespace}/${service}`] : []
}

const sliceAddresses = ({ endpoints }: EndpointSlice) =>
  (endpoints ?? []).filter(isPublished).flatMap(({ addresses }) => addresses.map(canonical))

const podAddresses = ({ status }: Pod) => (status?.podIPs ?? []).flatMap(({ ip }) => (ip ? [canonical(ip)] : []))

/** Ready, or published although it is not: the slices say so themselves. */
export const isPublished = ({ conditions }: Endpoint) => conditions?.ready !== false

/** One spelling for each address. */
export function canonical(address: string): string {
  const ip = parseIP(address)
  return ip ? formatIP(ip) : address
}
