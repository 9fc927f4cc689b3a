import type { Service, ServicePort, ServiceSpec } from '../../../api/generated/core-v1.ts'
import {
  allocatesNodePorts,
  draftSpec,
  hasNodePorts,
  isHeadless,
  needsClusterIP,
  needsHealthCheckNodePort,
  nodePortsOf,
  specOf,
} from '../../../api/kinds/core/service/service-type.ts'
import { keepAllocated, linkClusterIPs } from '../../../api/kinds/core/service/update.ts'
import { internalError, invalidObject } from '../../../api/meta/api-error.ts'
import { type FieldError, invalid } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'
import { type Clock, systemClock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import type { Store } from '../../../store/store.ts'
import type { Allocator } from '../../objects/allocation.ts'
import { Claims } from './claims.ts'
import { ClusterIPs, type Encode } from './cluster-ips.ts'
import { chooseIPFamilies, keepsPreferDualStack } from './ip-families.ts'
import { DEFAULT_NODE_PORT_RANGE, NodePorts, type PortRange } from './node-ports.ts'

export interface ServiceAllocatorOptions {
  readonly store: Store
  readonly random: Random
  readonly clock?: Clock
  readonly nodePortRange?: PortRange
  /** The stored form of an object. */
  readonly encode: Encode
}

export interface ServiceAllocator extends Allocator<Service>, Disposable {}

const PORTS = FieldPath.root('spec').child('ports')

/** Gives Services their cluster addresses and node ports, and takes them back. */
export function createServiceAllocator(options: ServiceAllocatorOptions): ServiceAllocator {
  const { store, random, clock = systemClock, nodePortRange = DEFAULT_NODE_PORT_RANGE, encode } = options
  const clusterIPs = new ClusterIPs({ store, random, clock, encode })
  const nodePorts = new NodePorts(store, nodePortRange, random)
  const pools = { clusterIPs, nodePorts }
  return {
    async create(draft) {
      const claims = new Claims(store)
      const spec = draftSpec(draft)
      linkClusterIPs(spec, undefined)
      await chooseFamilies(pools, draft, spec, undefined)
      if (needsClusterIP(spec) && !isHeadless(spec)) await takeClusterIPs(pools, claims, draft, spec)
      if (hasNodePorts(spec)) await takeNodePorts(pools, claims, draft, spec)
      if (needsHealthCheckNodePort(spec)) await takeHealthCheckNodePort(pools, claims, draft, spec)
      return claims
    },
    async update(draft, old) {
      const claims = new Claims(store)
      const spec = draftSpec(draft)
      const before = specOf(old)
      keepAllocated(spec, before)
      linkClusterIPs(spec, before)
      await chooseFamilies(pools, draft, spec, before)
      await updateClusterIPs(pools, claims, draft, old)
      await updateNodePorts(pools, claims, draft, old)
      await updateHealthCheckNodePort(pools, claims, draft, old)
      return claims
    },
    async release(old) {
      const claims = new Claims(store)
      const spec = specOf(old)
      if (needsClusterIP(spec) && !isHeadless(spec)) {
        for (const ip of spec.clusterIPs ?? []) await clusterIPs.release(claims, old, ip)
      }
      for (const port of new Set(nodePortsOf(spec))) await nodePorts.release(claims, old, port)
      if (spec.healthCheckNodePort) await nodePorts.release(claims, old, spec.healthCheckNodePort)
      return claims
    },
    [Symbol.dispose]() {
      clusterIPs[Symbol.dispose]()
      nodePorts[Symbol.dispose]()
    },
  }
}

interface Pools {
  readonly clusterIPs: ClusterIPs
  readonly nodePorts: NodePorts
}

function refuse(service: Service, errors: readonly FieldError[]): never {
  throw invalidObject({ group: '', kind: 'Service' }, service.metadata.name ?? '', errors)
}

async function chooseFamilies(
  { clusterIPs }: Pools,
  draft: Service,
  spec: ServiceSpec,
  before: Readonly<ServiceSpec> | undefined,
): Promise<void> {
  if (!needsClusterIP(spec)) return
  const errors = chooseIPFamilies(spec, before, await clusterIPs.families())
  if (errors.length > 0) refuse(draft, errors)
}

async function takeClusterIPs(pools: Pools, claims: Claims, draft: Service, spec: ServiceSpec): Promise<void> {
  const families = spec.ipFamilies ?? []
  const wanted = families.map((_, i) => spec.clusterIPs?.[i] ?? '')
  spec.clusterIPs = await pools.clusterIPs.take(claims, draft, families, wanted)
  spec.clusterIP = spec.clusterIPs[0]!
}

/** Addresses come when ExternalName is left or a family added, and go when it is entered or a family dropped. */
async function updateClusterIPs(pools: Pools, claims: Claims, draft: Service, old: Service): Promise<void> {
  const spec = draftSpec(draft)
  const before = specOf(old)
  if (keepsPreferDualStack(spec, before)) return
  if (!needsClusterIP(before)) {
    if (needsClusterIP(spec) && !isHeadless(spec)) await takeClusterIPs(pools, claims, draft, spec)
    return
  }
  if (isHeadless(before)) return
  const oldIPs = before.clusterIPs ?? []
  if (!needsClusterIP(spec)) {
    for (const ip of oldIPs) await pools.clusterIPs.release(claims, old, ip)
    return
  }
  const families = spec.ipFamilies?.length ?? 0
  const oldFamilies = before.ipFamilies?.length ?? 0
  if (oldFamilies === 1 && families === 2) await takeSecondIP(pools, claims, draft, spec)
  else if (oldFamilies === 2 && families === 1 && oldIPs[1]) await pools.clusterIPs.release(claims, old, oldIPs[1])
}

async function takeSecondIP(pools: Pools, claims: Claims, draft: Service, spec: ServiceSpec): Promise<void> {
  const [first = '', wanted = ''] = spec.clusterIPs ?? []
  const [second] = await pools.clusterIPs.take(claims, draft, [spec.ipFamilies![1]!], [wanted])
  spec.clusterIPs = [first, second!]
}

/** Ports of the same number (TCP and UDP, say) share a node port. */
async function takeNodePorts(pools: Pools, claims: Claims, draft: Service, spec: ServiceSpec): Promise<void> {
  const byPort = new Map<number, number>()
  const ports = spec.ports ?? []
  for (let i = 0; i < ports.length; i++) {
    const port = ports[i]!
    if (!port.nodePort && !allocatesNodePorts(spec)) continue
    const shared = byPort.get(port.port)
    if (shared !== undefined && (!port.nodePort || port.nodePort === shared)) {
      port.nodePort = shared
      continue
    }
    const wanted = shared === undefined ? requestedNodePort(ports, port.port) : port.nodePort
    port.nodePort = wanted
      ? await takeChosenPort(pools, claims, draft, i, wanted)
      : await takeAnyPort(pools, claims, draft)
    if (shared === undefined) byPort.set(port.port, port.nodePort)
  }
}

const requestedNodePort = (ports: readonly ServicePort[], number: number) =>
  ports.find((port) => port.port === number && port.nodePort)?.nodePort

async function takeChosenPort(
  { nodePorts }: Pools,
  claims: Claims,
  draft: Service,
  index: number,
  port: number,
): Promise<number> {
  const refusal = await nodePorts.take(claims, draft, port)
  if (refusal !== undefined) refuse(draft, [invalid(PORTS.index(index).child('nodePort'), port, refusal)])
  return port
}

async function takeAnyPort({ nodePorts }: Pools, claims: Claims, draft: Service): Promise<number> {
  const port = await nodePorts.takeAny(claims, draft)
  if (port === undefined) throw internalError('failed to allocate a nodePort: range is full')
  return port
}

async function updateNodePorts(pools: Pools, claims: Claims, draft: Service, old: Service): Promise<void> {
  const spec = draftSpec(draft)
  const before = specOf(old)
  const held = new Set(hasNodePorts(before) ? nodePortsOf(before) : [])
  if (hasNodePorts(spec)) await takeMissingNodePorts(pools, claims, draft, held)
  const kept = new Set(hasNodePorts(spec) ? nodePortsOf(spec) : [])
  for (const port of held) if (!kept.has(port)) await pools.nodePorts.release(claims, old, port)
}

async function takeMissingNodePorts(
  pools: Pools,
  claims: Claims,
  draft: Service,
  held: ReadonlySet<number>,
): Promise<void> {
  const spec = draftSpec(draft)
  const ports = spec.ports ?? []
  const taken = new Set(held)
  for (let i = 0; i < ports.length; i++) {
    const port = ports[i]!
    if (!port.nodePort && !allocatesNodePorts(spec)) continue
    if (!port.nodePort) port.nodePort = await takeAnyPort(pools, claims, draft)
    else if (!taken.has(port.nodePort)) await takeChosenPort(pools, claims, draft, i, port.nodePort)
    taken.add(port.nodePort)
  }
}

async function takeHealthCheckNodePort(
  { nodePorts }: Pools,
  claims: Claims,
  draft: Service,
  spec: ServiceSpec,
): Promise<void> {
  const wanted = spec.healthCheckNodePort
  if (wanted) {
    const refusal = await nodePorts.take(claims, draft, wanted)
    if (refusal !== undefined) {
      throw internalError(`failed to allocate requested HealthCheck NodePort ${wanted}: ${refusal}`)
    }
    return
  }
  const port = await nodePorts.takeAny(claims, draft)
  if (port === undefined) throw internalError('failed to allocate a HealthCheck NodePort 0: range is full')
  spec.healthCheckNodePort = port
}

async function updateHealthCheckNodePort(pools: Pools, claims: Claims, draft: Service, old: Service): Promise<void> {
  const before = specOf(old)
  const needed = needsHealthCheckNodePort(before)
  const needs = needsHealthCheckNodePort(specOf(draft))
  if (needs && !needed) await takeHealthCheckNodePort(pools, claims, draft, draftSpec(draft))
  if (needed && !needs && before.healthCheckNodePort) {
    await pools.nodePorts.release(claims, old, before.healthCheckNodePort)
  }
}
