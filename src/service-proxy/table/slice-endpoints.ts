import type { EndpointSlice, Endpoint as SliceEndpoint } from '../../api/generated/discovery-v1.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { formatIP, type IPFamily, parseSloppyIP } from '../../base/ip-address.ts'
import type { Endpoint } from '../service-port.ts'
import { isLeftAlone } from './left-alone.ts'

export interface KnownEndpoint extends Endpoint {
  readonly isReady: boolean
  readonly isServing: boolean
  readonly isTerminating: boolean
  readonly zoneHints: readonly string[]
  readonly nodeHints: readonly string[]
}

/** The endpoints of one slice by `port name/protocol/family`. */
export type SliceEndpoints = ReadonlyMap<string, readonly KnownEndpoint[]>

const FAMILY_OF: Readonly<Record<string, IPFamily>> = { IPv4: 'IPv4', IPv6: 'IPv6' }

/** `namespace/name` of the Service a slice belongs to; undefined for those of no Service that is proxied here. */
export function serviceOfSlice({ metadata }: EndpointSlice): string | undefined {
  const name = isLeftAlone(metadata) ? undefined : metadata.labels?.[LABEL.serviceName]
  return name ? `${metadata.namespace}/${name}` : undefined
}

export const portIndex = (portName: string, protocol: string, family: string) => `${portName}/${protocol}/${family}`

export function endpointsOfSlice(slice: EndpointSlice, nodeName: string): SliceEndpoints {
  const found = new Map<string, KnownEndpoint[]>()
  const family = FAMILY_OF[slice.addressType]
  if (!family) return found
  for (const { name = '', protocol = 'TCP', port } of slice.ports ?? []) {
    if (port === undefined) continue
    const endpoints = (slice.endpoints ?? []).flatMap((endpoint) => knownEndpoint(endpoint, port, family, nodeName))
    const index = portIndex(name, protocol, family)
    found.set(index, [...(found.get(index) ?? []), ...endpoints])
  }
  return found
}

function knownEndpoint(endpoint: SliceEndpoint, port: number, family: IPFamily, nodeName: string): KnownEndpoint[] {
  const { conditions = {}, hints } = endpoint
  // All addresses of one endpoint are the same thing: the first one stands for it.
  const address = parseSloppyIP(endpoint.addresses?.[0] ?? '')
  if (address?.family !== family) return []
  const ip = formatIP(address)
  return [
    {
      ip,
      port,
      id: `${ip} ${port}`,
      isLocal: endpoint.nodeName !== undefined && endpoint.nodeName === nodeName,
      isReady: conditions.ready ?? true,
      isServing: conditions.serving ?? true,
      isTerminating: conditions.terminating ?? false,
      zoneHints: hints?.forZones?.map(({ name }) => name) ?? [],
      nodeHints: hints?.forNodes?.map(({ name }) => name) ?? [],
    },
  ]
}

/** Those of all slices of a Service for one port. The same target in two slices is one endpoint, local if either is. */
export function mergeSlices(slices: Iterable<SliceEndpoints>, index: string): KnownEndpoint[] {
  const merged = new Map<string, KnownEndpoint>()
  for (const slice of slices) {
    for (const endpoint of slice.get(index) ?? []) {
      if (!merged.has(endpoint.id) || endpoint.isLocal) merged.set(endpoint.id, endpoint)
    }
  }
  return [...merged.values()]
}
