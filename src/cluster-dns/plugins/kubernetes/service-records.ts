import type { Service } from '../../../api/generated/core-v1.ts'
import type { Endpoint, EndpointPort, EndpointSlice } from '../../../api/generated/discovery-v1.ts'
import type { DnsRecord } from '../../wire/message.ts'
import { labelOfAddress } from './cluster-names.ts'
import { isPublished } from './cluster-objects.ts'

/** Something a name of a Service leads to: its own address, or an endpoint of a headless one. */
export interface Target {
  /** The name that has the address. */
  readonly name: string
  readonly address: string
  readonly ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[]
}

export const isHeadless = ({ spec }: Service) => spec?.clusterIP === 'None'

/** The Service itself: one target per address it has. */
export function ownTargets(service: Service, name: string): Target[] {
  const { spec } = service
  const addresses = (spec?.clusterIPs ?? [spec?.clusterIP ?? '']).filter((ip) => ip !== '' && ip !== 'None')
  const ports = (spec?.ports ?? []).map(({ name = '', protocol = 'TCP', port }) => ({ name, protocol, port }))
  return addresses.map((address) => ({ name, address, ports }))
}

/** Every endpoint that is published, under its host name or one made of its address. */
export function endpointTargets(slices: readonly EndpointSlice[], service: string): Target[] {
  return slices.flatMap((slice) => {
    const ports = portsOf(slice.ports ?? [])
    return (slice.endpoints ?? []).filter(isPublished).flatMap((endpoint) =>
      endpoint.addresses.map((address) => ({
        name: `${endpointLabel(endpoint, address)}.${service}`,
        address,
        ports,
      })),
    )
  })
}

export const endpointLabel = ({ hostname }: Endpoint, address: string) =>
  (hostname || labelOfAddress(address)).toLowerCase()

const portsOf = (ports: readonly EndpointPort[]) =>
  ports.flatMap(({ name, protocol, port }) =>
    port === undefined ? [] : [{ name: name ?? '', protocol: protocol ?? 'TCP', port }],
  )

/** The addresses of one family, under one name, each once. */
export function addressRecords(name: string, targets: readonly Target[], type: 'A' | 'AAAA', ttl: number): DnsRecord[] {
  const seen = new Set<string>()
  const records: DnsRecord[] = []
  for (const { address } of targets) {
    if (address.includes(':') !== (type === 'AAAA') || seen.has(address)) continue
    seen.add(address)
    records.push({ name, ttl, data: { type, address } })
  }
  return records
}

export interface ServiceRecords {
  readonly answers: readonly DnsRecord[]
  /** The addresses of the targets, so that nobody has to ask again. */
  readonly additional: readonly DnsRecord[]
}

/** SRV records of the ports that `isWanted`; targets share the load evenly. */
export function srvRecords(
  name: string,
  targets: readonly Target[],
  isWanted: (port: { readonly name: string; readonly protocol: string }) => boolean,
  ttl: number,
): ServiceRecords {
  const answers = new Map<string, DnsRecord>()
  const additional = new Map<string, DnsRecord>()
  const used = targets.filter(({ ports }) => ports.some(isWanted))
  const weight = Math.max(1, Math.floor(100 / Math.max(1, used.length)))
  for (const { name: target, address, ports } of used) {
    for (const port of ports.filter(isWanted)) {
      answers.set(`${target}:${port.port}`, {
        name,
        ttl,
        data: { type: 'SRV', priority: 0, weight, port: port.port, target },
      })
    }
    const type = address.includes(':') ? 'AAAA' : 'A'
    additional.set(`${target}:${address}`, { name: target, ttl, data: { type, address } })
  }
  return { answers: [...answers.values()], additional: [...additional.values()] }
}
