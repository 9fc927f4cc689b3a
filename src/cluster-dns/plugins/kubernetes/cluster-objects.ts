import type { Namespace, Pod, Service } from '../../../api/generated/core-v1.ts'
import type { Endpoint, EndpointSlice } from '../../../api/generated/discovery-v1.ts'
import { namespaceKind } from '../../../api/kinds/core/namespace.ts'
import { podKind } from '../../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../../api/kinds/discovery/endpoint-slice.ts'
import { LABEL } from '../../../api/meta/well-known.ts'
import { formatIP, parseIP } from '../../../base/ip-address.ts'
import { type Informer, type Listener, objectKey } from '../../../client/informer.ts'
import type { InformerFactory } from '../../../client/informer-factory.ts'

/** The objects names are made of, found by what queries ask for. */
export interface ClusterObjects extends Disposable {
  isSynced(): boolean
  namespace(name: string): Namespace | undefined
  service(namespace: string, name: string): Service | undefined
  servicesByAddress(address: string): readonly Service[]
  slices(namespace: string, service: string): readonly EndpointSlice[]
  slicesByAddress(address: string): readonly EndpointSlice[]
  /** Only where pods are watched. */
  podsByAddress(address: string): readonly Pod[]
}

/** Informers may be shared, so indexes have names that say whose they are. */
const ADDRESS = 'dns-address'
const SERVICE = 'dns-service'

export interface FollowOptions {
  /** Whether to know pods too, which costs memory and serves `pods verified` only. */
  readonly pods: boolean
  /** Told what has changed: a namespace, `namespace/service`, an address. */
  readonly changed: (dependency: string) => void
}

export function followCluster(informers: InformerFactory, { pods: withPods, changed }: FollowOptions): ClusterObjects {
  const namespaces = informers.informer(namespaceKind)
  const services = informers.informer(serviceKind, { indexes: { [ADDRESS]: serviceAddresses } })
  const slices = informers.informer(endpointSliceKind, {
    indexes: { [SERVICE]: sliceService, [ADDRESS]: sliceAddresses },
  })
  const pods = withPods ? informers.informer(podKind, { indexes: { [ADDRESS]: podAddresses } }) : undefined
  const all: Pick<Informer, 'isSynced'>[] = [namespaces, services, slices, ...(pods ? [pods] : [])]
  const listening = [
    // Nothing in a namespace matters but that it is there.
    namespaces.onChange((old, now) => (old && now ? undefined : changed((now ?? old)!.metadata.name!))),
    services.onChange(telling((service) => [objectKey(service), ...serviceAddresses(service)], changed)),
    slices.onChange(telling((slice) => [...sliceService(slice), ...sliceAddresses(slice)], changed)),
  ]
  return {
    isSynced: () => all.every((informer) => informer.isSynced),
    namespace: (name) => namespaces.get(name),
    service: (namespace, name) => services.get(`${namespace}/${name}`),
    servicesByAddress: (address) => services.byIndex(ADDRESS, canonical(address)),
    slices: (namespace, service) => slices.byIndex(SERVICE, `${namespace}/${service}`),
    slicesByAddress: (address) => slices.byIndex(ADDRESS, canonical(address)),
    podsByAddress: (address) => pods?.byIndex(ADDRESS, canonical(address)) ?? [],
    [Symbol.dispose]() {
      for (const end of listening) end()
    },
  }
}

/** Tells what an object stood for before and what it stands for now. */
const telling =
  <T>(dependencies: (object: T) => readonly string[], changed: (dependency: string) => void): Listener<T> =>
  (old, now) => {
    for (const dependency of new Set([old, now].flatMap((object) => (object ? dependencies(object) : []))))
      changed(dependency)
  }

function serviceAddresses({ spec }: Service): string[] {
  return (spec?.clusterIPs ?? [spec?.clusterIP ?? '']).filter((ip) => ip !== '' && ip !== 'None').map(canonical)
}

function sliceService({ metadata }: EndpointSlice): string[] {
  const service = metadata.labels?.[LABEL.serviceName]
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
