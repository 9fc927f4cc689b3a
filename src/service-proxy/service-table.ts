/**
 * What every address of every Service leads to, seen from one node. Services and EndpointSlices go in as they change;
 * what comes out are the keys of the ports for which something is different now. All modes render this table, so none
 * can disagree with another about which endpoint is right.
 */

import type { Service } from '../api/generated/core-v1.ts'
import type { EndpointSlice } from '../api/generated/discovery-v1.ts'
import { LABEL } from '../api/meta/well-known.ts'
import { deepEqual } from '../base/deep-equal.ts'
import { getOrCreate } from '../base/get-or-create.ts'
import {
  type Endpoint,
  externalAddresses,
  isExternallyAccessible,
  type ServicePort,
  type ServicePortKey,
} from './service-port.ts'
import { type Place, selectEndpoints } from './table/endpoint-selection.ts'
import { Frontends } from './table/frontends.ts'
import { ReservedAddresses, type ReservedGroup } from './table/reserved-addresses.ts'
import { type PortSpec, portSpecsOf } from './table/service-spec.ts'
import {
  endpointsOfSlice,
  type KnownEndpoint,
  mergeSlices,
  portIndex,
  type SliceEndpoints,
  serviceOfSlice,
} from './table/slice-endpoints.ts'

export interface TableNode {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
}

/** A health-check node port and what it answers. */
export interface HealthCheck {
  readonly service: string
  readonly port: number
  readonly localEndpoints: number
}

export interface NoLocalEndpoints {
  readonly internal: number
  readonly external: number
}

/** An address that a Service asked for and does not get. */
export interface RefusedAddress {
  readonly service: string
  readonly uid: string
  readonly address: string
  readonly reason: string
}

export class ServiceTable {
  readonly #ports = new Map<ServicePortKey, ServicePort>()
  readonly #specs = new Map<string, readonly PortSpec[]>()
  readonly #slices = new Map<string, Map<string, SliceEndpoints>>()
  readonly #healthChecks = new Map<string, HealthCheck>()
  readonly #frontends = new Frontends()
  readonly #dirty = new Set<string>()
  readonly #changed = new Set<ServicePortKey>()
  readonly #noLocal = { internal: 0, external: 0 }
  readonly #reserved: ReservedAddresses
  readonly #refused = new Map<string, readonly RefusedAddress[]>()
  #place: Place

  constructor(node: TableNode, reserved = new ReservedAddresses()) {
    this.#reserved = reserved
    this.#place = { nodeName: node.name, zone: node.labels?.[LABEL.zone] }
  }

  get size(): number {
    return this.#ports.size
  }

  get(key: ServicePortKey): ServicePort | undefined {
    return this.#ports.get(key)
  }

  ports(): IterableIterator<ServicePort> {
    return this.#ports.values()
  }

  healthChecks(): IterableIterator<HealthCheck> {
    return this.#healthChecks.values()
  }

  /** How many ports have a Local policy, endpoints elsewhere and none here. */
  get noLocalEndpoints(): NoLocalEndpoints {
    return this.#noLocal
  }

  /** Addresses that Services ask for and do not get, for each of their ports. */
  *refusedAddresses(): Generator<RefusedAddress> {
    for (const refused of this.#refused.values()) yield* refused
  }

  /** No Service gets these as an external address. */
  reserve(group: ReservedGroup, addresses: Iterable<string>): void {
    if (!this.#reserved.setAddresses(group, addresses)) return
    for (const [service, specs] of this.#specs)
      if (specs.some((spec) => spec.externalIPs.length > 0 || spec.loadBalancerIPs.length > 0)) this.#dirty.add(service)
  }

  /** The zone of the node decides about topology hints. */
  setNode({ labels }: Pick<TableNode, 'labels'>): void {
    const zone = labels?.[LABEL.zone]
    if (zone === this.#place.zone) return
    this.#place = { ...this.#place, zone }
    for (const service of this.#specs.keys()) this.#dirty.add(service)
  }

  /** In the shape of an informer's listener. */
  serviceChanged(old: Service | undefined, current: Service | undefined): void {
    const { namespace, name } = (current ?? old)!.metadata
    const service = `${namespace}/${name}`
    const before = this.#specs.get(service) ?? []
    const after = current ? portSpecsOf(current) : []
    if (deepEqual(before, after)) return
    const affected = new Set<ServicePortKey>()
    for (const spec of before) this.#frontends.release(spec, affected)
    for (const spec of after) this.#frontends.claim(spec, affected)
    for (const key of affected) this.#touch(serviceOf(key))
    for (const spec of before) if (!after.some(({ key }) => key === spec.key)) this.#replace(spec.key, undefined)
    if (after.length > 0) this.#specs.set(service, after)
    else this.#specs.delete(service)
    this.#touch(service)
  }

  endpointSliceChanged(old: EndpointSlice | undefined, current: EndpointSlice | undefined): void {
    const before = old && serviceOfSlice(old)
    const after = current && serviceOfSlice(current)
    if (before !== undefined && before !== after) this.#dropSlice(before, old!.metadata.name!)
    if (after === undefined) return
    const endpoints = endpointsOfSlice(current!, this.#place.nodeName)
    getOrCreate(this.#slices, after, () => new Map<string, SliceEndpoints>()).set(current!.metadata.name!, endpoints)
    this.#touch(after)
  }

  /** Computes what has become different since the last call: the ports to look at again, those that are gone included. */
  update(): ReadonlySet<ServicePortKey> {
    for (const service of this.#dirty) this.#recompute(service)
    this.#dirty.clear()
    const changed = new Set(this.#changed)
    this.#changed.clear()
    return changed
  }

  #touch(service: string): void {
    this.#dirty.add(service)
  }

  #dropSlice(service: string, name: string): void {
    const slices = this.#slices.get(service)
    slices?.delete(name)
    if (slices?.size === 0) this.#slices.delete(service)
    this.#touch(service)
  }

  #recompute(service: string): void {
    const specs = this.#specs.get(service) ?? []
    const slices = this.#slices.get(service)
    const ready = new Set<string>()
    const refused: RefusedAddress[] = []
    let healthCheckNodePort = 0
    for (const spec of specs) {
      const endpoints = mergeSlices(slices?.values() ?? [], portIndex(spec.portName, spec.protocol, spec.family))
      const port = portOf(this.#allowed(this.#frontends.owned(spec), refused), endpoints, this.#place)
      const known = this.#ports.get(spec.key)
      if (!known || !samePort(known, port)) this.#replace(spec.key, port)
      healthCheckNodePort ||= spec.healthCheckNodePort
      // A pod has an address in each family, and counts once.
      if (spec.family !== specs[0]!.family) continue
      for (const one of endpoints) if (one.isLocal && one.isReady) ready.add(one.ip)
    }
    if (refused.length > 0) this.#refused.set(service, refused)
    else this.#refused.delete(service)
    if (healthCheckNodePort === 0) this.#healthChecks.delete(service)
    else this.#healthChecks.set(service, { service, port: healthCheckNodePort, localEndpoints: ready.size })
  }

  /** Without external addresses that are not for Services. */
  #allowed(spec: PortSpec, refused: RefusedAddress[]): PortSpec {
    const before = refused.length
    for (const address of externalAddresses(spec)) {
      const reason = this.#reserved.reason(address)
      if (reason !== undefined) refused.push({ service: spec.service, uid: spec.uid, address, reason })
    }
    if (refused.length === before) return spec
    const isAllowed = (ip: string) => !refused.some(({ address }) => address === ip)
    const { externalIPs, loadBalancerIPs } = spec
    return { ...spec, externalIPs: externalIPs.filter(isAllowed), loadBalancerIPs: loadBalancerIPs.filter(isAllowed) }
  }

  #replace(key: ServicePortKey, port: ServicePort | undefined): void {
    const known = this.#ports.get(key)
    if (!known && !port) return
    this.#count(known, -1)
    this.#count(port, 1)
    if (port) this.#ports.set(key, port)
    else this.#ports.delete(key)
    this.#changed.add(key)
  }

  #count(port: ServicePort | undefined, by: 1 | -1): void {
    if (!port || port.localEndpoints.length > 0 || !port.hasEndpoints) return
    if (port.internalPolicyLocal) this.#noLocal.internal += by
    if (port.externalPolicyLocal && isExternallyAccessible(port)) this.#noLocal.external += by
  }
}

/** `default/web:http/TCP/IPv4` -> `default/web` */
const serviceOf = (key: ServicePortKey) => /^([^/]+\/[^/:]+)/.exec(key)![1]!

/** Field by field: ten thousand of these are made at a start, and copying by spread takes ten times as long. */
function portOf(spec: PortSpec, endpoints: readonly KnownEndpoint[], place: Place): ServicePort {
  const selection = selectEndpoints(endpoints, spec, place)
  return {
    key: spec.key,
    service: spec.service,
    name: spec.name,
    family: spec.family,
    protocol: spec.protocol,
    port: spec.port,
    clusterIP: spec.clusterIP,
    nodePort: spec.nodePort,
    externalIPs: spec.externalIPs,
    loadBalancerIPs: spec.loadBalancerIPs,
    sourceRanges: spec.sourceRanges,
    affinitySeconds: spec.affinitySeconds,
    internalPolicyLocal: spec.internalPolicyLocal,
    externalPolicyLocal: spec.externalPolicyLocal,
    healthCheckNodePort: spec.healthCheckNodePort,
    clusterEndpoints: selection.clusterEndpoints,
    localEndpoints: selection.localEndpoints,
    servingEndpoints: selection.servingEndpoints,
    hasEndpoints: selection.hasEndpoints,
  }
}

function samePort(a: ServicePort, b: ServicePort): boolean {
  const { clusterEndpoints, localEndpoints, servingEndpoints, ...rest } = a
  const { clusterEndpoints: cluster, localEndpoints: local, servingEndpoints: serving, ...others } = b
  return (
    sameEndpoints(clusterEndpoints, cluster) &&
    sameEndpoints(localEndpoints, local) &&
    sameEndpoints(servingEndpoints, serving) &&
    deepEqual(rest, others)
  )
}

function sameEndpoints(a: readonly Endpoint[], b: readonly Endpoint[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i]!.id !== b[i]!.id || a[i]!.isLocal !== b[i]!.isLocal) return false
  return true
}
