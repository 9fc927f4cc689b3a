import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints } from '../../api/generated/core-v1.ts'
import type { Endpoint, EndpointSlice, EndpointPort as SlicePort } from '../../api/generated/discovery-v1.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import { formatIP, parseSloppyIP, unmapped } from '../../base/ip-address.ts'
import { portGroup } from '../endpointslice/pod-endpoint.ts'
import { MANAGED_BY_LABEL, SERVICE_NAME_LABEL, TRIGGER_TIME_ANNOTATION } from '../endpointslice/slice-metadata.ts'

export const MIRRORING_CONTROLLER_NAME = 'endpointslicemirroring-controller.k8s.io'
export const MAX_ENDPOINTS_PER_SUBSET = 1000

/** What a slice mirrors, without its name. */
export type Mirror = Pick<EndpointSlice, 'addressType'> & {
  readonly key: string
  readonly ports: EndpointPort[]
  readonly endpoints: Endpoint[]
}

export interface Mirrors {
  readonly mirrors: Mirror[]
  /** Addresses that are none. */
  readonly invalid: number
  /** Addresses beyond the maximum of a subset. */
  readonly skipped: number
}

/** One slice for each subset and address family. */
export function mirrorsOf(endpoints: Endpoints): Mirrors {
  const mirrors = new Map<string, Mirror>()
  let invalid = 0
  let skipped = 0
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of repacked(endpoints.subsets ?? [])) {
    let added = 0
    const add = (address: EndpointAddress, ready: boolean) => {
      if (added >= MAX_ENDPOINTS_PER_SUBSET) skipped++
      else if (addTo(mirrors, address, ready, ports)) added++
      else invalid++
    }
    for (const address of addresses) add(address, true)
    for (const address of notReadyAddresses) add(address, false)
  }
  return { mirrors: [...mirrors.values()], invalid, skipped }
}

export const mirrorKey = (addressType: string, ports: readonly SlicePort[]) =>
  `${addressType} ${portGroup([...ports]).key}`

function addTo(mirrors: Map<string, Mirror>, address: EndpointAddress, ready: boolean, ports: EndpointPort[]): boolean {
  const parsed = parseSloppyIP(address.ip)
  if (!parsed) return false
  const ip = unmapped(parsed)
  const key = mirrorKey(ip.family, ports)
  let mirror = mirrors.get(key)
  if (!mirror) {
    mirror = { key, addressType: ip.family, ports, endpoints: [] }
    mirrors.set(key, mirror)
  }
  const { nodeName, hostname, targetRef } = address
  mirror.endpoints.push({
    addresses: [formatIP(ip)],
    conditions: { ready },
    ...(nodeName && { nodeName }),
    ...(hostname && { hostname }),
    ...(targetRef && { targetRef }),
  })
  return true
}

/** Ports that have the same addresses in the same state become one subset, however the user wrote them down. */
function repacked(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  const byPort = new Map<
    string,
    { port: EndpointPort | undefined; addresses: Map<string, [EndpointAddress, boolean]> }
  >()
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    for (const port of ports.length > 0 ? ports.map(namedPort) : [undefined]) {
      const key = port ? portGroup([port]).key : ''
      const entry = byPort.get(key) ?? { port, addresses: new Map<string, [EndpointAddress, boolean]>() }
      byPort.set(key, entry)
      for (const address of addresses) entry.addresses.set(addressKey(address), [address, true])
      for (const address of notReadyAddresses) entry.addresses.set(addressKey(address), [address, false])
    }
  }
  const merged = new Map<string, { ports: EndpointPort[]; addresses: [EndpointAddress, boolean][] }>()
  for (const [portKey, { port, addresses }] of byPort) {
    const states = [...addresses].map(([key, [, ready]]) => `${key}=${ready}`).sort()
    // Addresses without any port are never joined with addresses that have one.
    const key = `${portKey === ''} ${states.join(' ')}`
    const entry = merged.get(key)
    if (entry && port) entry.ports.push(port)
    else merged.set(key, { ports: port ? [port] : [], addresses: [...addresses.values()] })
  }
  return [...merged.values()].map(({ ports, addresses }) => ({
    ports,
    addresses: addresses.filter(([, ready]) => ready).map(([address]) => address),
    notReadyAddresses: addresses.filter(([, ready]) => !ready).map(([address]) => address),
  }))
}

const addressKey = ({ ip, targetRef }: EndpointAddress) => `${ip} ${targetRef?.uid ?? ''}`
const namedPort = ({ name = '', ...port }: EndpointPort): EndpointPort => ({ name, ...port })

export const mirroredLabels = (endpoints: Endpoints): Record<string, string> => ({
  ...endpoints.metadata.labels,
  [SERVICE_NAME_LABEL]: endpoints.metadata.name ?? '',
  [MANAGED_BY_LABEL]: MIRRORING_CONTROLLER_NAME,
})

export function mirroredAnnotations(endpoints: Endpoints): Record<string, string> {
  const {
    [ANNOTATION.lastApplied]: _applied,
    [TRIGGER_TIME_ANNOTATION]: _trigger,
    ...annotations
  } = endpoints.metadata.annotations ?? {}
  return annotations
}
