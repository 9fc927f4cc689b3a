import type { Endpoints, Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { endpointsKind } from '../../api/kinds/core/endpoints.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import type { ObjectMeta } from '../../api/meta/object.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Indexes, Informer } from '../../client/informer.ts'
import { type Controller, type ControllerContext, ownKey, type ReconcileResult, watch } from '../controller.ts'
import { hasSelector } from '../endpointslice/service-pods.ts'
import { generateNameOf, MANAGED_BY_LABEL, SERVICE_NAME_LABEL } from '../endpointslice/slice-metadata.ts'
import { isNamespaceTerminating, isNotFound } from '../endpointslice/slice-writer.ts'
import {
  MAX_ENDPOINTS_PER_SUBSET,
  MIRRORING_CONTROLLER_NAME,
  type Mirror,
  mirroredAnnotations,
  mirroredLabels,
  mirrorKey,
  mirrorsOf,
} from './mirrored-slices.ts'

/** Mirrors Endpoints that users write for Services without a selector, so that proxies need to know slices only. */
export function endpointSliceMirroringController(context: ControllerContext): Controller {
  return new EndpointSliceMirroringController(context)
}

const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader'
/** How long to wait for the informer to show what was just written. */
const SIGHT_LIMIT = 5000

const BY_ENDPOINTS = 'endpointslice-mirroring/endpoints'
const sliceIndexes: Indexes<EndpointSlice> = { [BY_ENDPOINTS]: (slice) => endpointsKeys(slice) }

function endpointsKeys(slice: EndpointSlice | undefined): string[] {
  const { namespace, labels } = slice?.metadata ?? {}
  const name = labels?.[SERVICE_NAME_LABEL]
  return name && labels?.[MANAGED_BY_LABEL] === MIRRORING_CONTROLLER_NAME ? [`${namespace}/${name}`] : []
}

const shouldMirror = ({ metadata }: Endpoints) =>
  metadata.labels?.[LABEL.skipMirror] !== 'true' && metadata.annotations?.[LEADER_ANNOTATION] === undefined

class EndpointSliceMirroringController implements Controller {
  readonly name = 'endpointslice-mirroring-controller'
  readonly workers = 5
  readonly watches
  readonly #context: ControllerContext
  readonly #endpoints: Informer<Endpoints>
  readonly #services: Informer<Service>
  readonly #slices: Informer<EndpointSlice>
  /** Names of slices that were made and not seen yet, by the key of their Endpoints. */
  readonly #unseen = new Map<string, { readonly names: Set<string>; readonly since: number }>()

  constructor(context: ControllerContext) {
    this.#context = context
    this.#endpoints = context.informers.informer(endpointsKind)
    this.#services = context.informers.informer(serviceKind)
    this.#slices = context.informers.informer(endpointSliceKind, { indexes: sliceIndexes })
    this.watches = [
      watch(this.#endpoints, (old, current) =>
        [old, current].some((object) => object && shouldMirror(object)) ? ownKey(old, current) : [],
      ),
      watch(this.#services, (old, current) =>
        old && current && hasSelector(old) === hasSelector(current) ? [] : ownKey(old, current),
      ),
      watch(this.#slices, (old, current) => new Set([...endpointsKeys(old), ...endpointsKeys(current)])),
    ]
  }

  async reconcile(key: string): Promise<ReconcileResult | void> {
    const slices = this.#slices.byIndex(BY_ENDPOINTS, key)
    if (!this.#hasSeenAll(key, slices)) return { retryAfter: SIGHT_LIMIT }
    const endpoints = this.#endpoints.get(key)
    const service = this.#services.get(key)
    const mirrored = endpoints && shouldMirror(endpoints) && service && !hasSelector(service) ? endpoints : undefined
    if (mirrored) await this.#mirror(key, mirrored, slices)
    else await Promise.all(slices.map((slice) => this.#delete(slice)))
  }

  /** A slice that the informer does not show yet would be made a second time. */
  #hasSeenAll(key: string, slices: readonly EndpointSlice[]): boolean {
    const unseen = this.#unseen.get(key)
    if (!unseen) return true
    for (const { metadata } of slices) unseen.names.delete(metadata.name ?? '')
    const isLate = this.#context.clock.now() - unseen.since >= SIGHT_LIMIT
    if (unseen.names.size > 0 && !isLate) return false
    this.#unseen.delete(key)
    return true
  }

  async #mirror(key: string, endpoints: Endpoints, slices: readonly EndpointSlice[]): Promise<void> {
    const { mirrors, invalid, skipped } = mirrorsOf(endpoints)
    this.#tell(endpoints, invalid, skipped)
    const free = new Set(slices)
    const missing: Mirror[] = []
    for (const mirror of mirrors) {
      const slice = [...free].find((one) => mirrorKey(one.addressType, one.ports ?? []) === mirror.key)
      if (slice) free.delete(slice)
      if (slice) await this.#update(endpoints, slice, mirror)
      else missing.push(mirror)
    }
    for (const mirror of missing) {
      // Ports may change, the address family of a slice may not.
      const recycled = [...free].find((slice) => slice.addressType === mirror.addressType)
      if (recycled) free.delete(recycled)
      if (recycled) await this.#update(endpoints, recycled, mirror)
      else if (endpoints.metadata.deletionTimestamp === undefined) await this.#create(key, endpoints, mirror)
    }
    for (const slice of free) await this.#delete(slice)
  }

  async #update(endpoints: Endpoints, slice: EndpointSlice, mirror: Mirror): Promise<void> {
    const metadata: ObjectMeta = { ...slice.metadata, ...mirroredMetadata(endpoints) }
    const { addressType, ports, endpoints: list } = mirror
    const wanted: EndpointSlice = { ...slice, metadata, addressType, ports, endpoints: list }
    if (isSame(slice, wanted)) return
    await this.#client(endpoints).update(wanted)
  }

  async #create(key: string, endpoints: Endpoints, mirror: Mirror): Promise<void> {
    const { addressType, ports, endpoints: list } = mirror
    const metadata = { ...mirroredMetadata(endpoints), generateName: generateNameOf(endpoints.metadata.name ?? '') }
    try {
      const created = await this.#client(endpoints).create({ metadata, addressType, ports, endpoints: list })
      const unseen = this.#unseen.get(key) ?? { names: new Set<string>(), since: this.#context.clock.now() }
      this.#unseen.set(key, unseen)
      unseen.names.add(created.metadata.name ?? '')
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error
    }
  }

  async #delete(slice: EndpointSlice): Promise<void> {
    try {
      await this.#client(slice).delete(slice.metadata.name ?? '')
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  #client({ metadata }: { metadata: ObjectMeta }) {
    return this.#context.client.resource(endpointSliceKind).namespace(metadata.namespace ?? '')
  }

  #tell(endpoints: Endpoints, invalid: number, skipped: number): void {
    const { events } = this.#context
    if (invalid > 0)
      events.event(
        endpoints,
        'Warning',
        'InvalidIPAddress',
        `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`,
      )
    if (skipped > 0)
      events.event(
        endpoints,
        'Warning',
        'TooManyAddressesToMirror',
        `A max of ${MAX_ENDPOINTS_PER_SUBSET} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped + invalid} addresses were skipped`,
      )
  }
}

function mirroredMetadata(endpoints: Endpoints): Pick<ObjectMeta, 'labels' | 'annotations' | 'ownerReferences'> {
  const { name = '', uid = '' } = endpoints.metadata
  return {
    labels: mirroredLabels(endpoints),
    annotations: mirroredAnnotations(endpoints),
    ownerReferences: [{ apiVersion: 'v1', kind: 'Endpoints', name, uid, controller: true, blockOwnerDeletion: true }],
  }
}

function isSame(a: EndpointSlice, b: EndpointSlice): boolean {
  return (
    deepEqual(a.endpoints ?? [], b.endpoints ?? []) &&
    deepEqual(a.ports ?? [], b.ports ?? []) &&
    deepEqual(a.metadata.labels, b.metadata.labels) &&
    deepEqual(a.metadata.annotations ?? {}, b.metadata.annotations ?? {}) &&
    deepEqual(a.metadata.ownerReferences, b.metadata.ownerReferences)
  )
}
