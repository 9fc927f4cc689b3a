import type { Endpoints, Pod, Service } from '../../api/generated/core-v1.ts'
import { endpointsKind } from '../../api/kinds/core/endpoints.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { type Informer, objectKey } from '../../client/informer.ts'
import {
  type Controller,
  type ControllerContext,
  ownKey,
  type ReconcileQueue,
  type ReconcileResult,
  splitKey,
  watch,
} from '../controller.ts'
import { concernsEndpoints, isHeadless, ServicePods, selectsPods } from '../endpointslice/service-pods.ts'
import { readyTransition } from '../endpointslice/service-slices.ts'
import { HEADLESS_LABEL, TRIGGER_TIME_ANNOTATION } from '../endpointslice/slice-metadata.ts'
import { isNamespaceTerminating, isNotFound } from '../endpointslice/slice-writer.ts'
import { ServiceAddresses } from './service-addresses.ts'
import { MAX_ADDRESSES, type Subsets } from './subsets.ts'

const MANAGER = 'endpoint-controller'
const OVER_CAPACITY_ANNOTATION = 'endpoints.kubernetes.io/over-capacity'
/** Each write carries all addresses, so with more than this many, changes are gathered: a millisecond per address. */
const SMALL = 100

/** Keeps the one Endpoints object of every Service with a selector: the older form of EndpointSlices. */
export function endpointsController(context: ControllerContext): Controller {
  return new EndpointsController(context)
}

class EndpointsController implements Controller {
  readonly name = 'endpoints-controller'
  readonly workers = 5
  readonly watches
  readonly #context: ControllerContext
  readonly #services: Informer<Service>
  readonly #pods: Informer<Pod>
  readonly #endpoints: Informer<Endpoints>
  readonly #servicePods: ServicePods
  readonly #addresses = new Map<string, ServiceAddresses>()
  /** The earliest unwritten change of each Service. */
  readonly #triggerTimes = new Map<string, string>()

  constructor(context: ControllerContext) {
    this.#context = context
    this.#services = context.informers.informer(serviceKind)
    this.#pods = context.informers.informer(podKind)
    this.#endpoints = context.informers.informer(endpointsKind)
    this.#servicePods = new ServicePods(this.#services, this.#pods)
    this.watches = [
      watch(this.#services, ownKey),
      watch(this.#pods, (old, current) => this.#podChanged(old, current)),
      // Endpoints without a Service are somebody else's.
      watch(this.#endpoints, (old, current) => ownKey(old, current).filter((key) => this.#services.get(key))),
    ]
  }

  /** What a Service left behind that was deleted while nobody looked. */
  start(queue: ReconcileQueue): void {
    for (const endpoints of this.#endpoints.list())
      if (endpoints.metadata.labels?.[LABEL.endpointsManagedBy] === MANAGER) queue.add(objectKey(endpoints))
  }

  async reconcile(key: string): Promise<ReconcileResult | void> {
    const service = this.#services.get(key)
    if (!service || !selectsPods(service)) this.#forget(key)
    if (!service) return await this.#delete(key)
    if (!selectsPods(service)) return
    const wait = (this.#addresses.get(key)?.restUntil ?? 0) - this.#context.clock.now()
    if (wait > 0) return { retryAfter: wait }
    await this.#sync(key, service)
  }

  async #sync(key: string, service: Service): Promise<void> {
    const current = this.#endpoints.get(key)
    const addresses = this.#addressesOf(key, service, current)
    const { subsets, isTruncated } = addresses.subsets()
    const labels = labelsOf(service)
    const isOver = current?.metadata.annotations?.[OVER_CAPACITY_ANNOTATION] !== undefined
    if (
      current &&
      isOver === isTruncated &&
      deepEqual(current.metadata.labels, labels) &&
      deepEqual(current.subsets ?? [], subsets)
    )
      return
    await this.#write(service, current, { subsets, isTruncated }, labels)
    this.#triggerTimes.delete(key)
    if (addresses.size > SMALL)
      addresses.restUntil = this.#context.clock.now() + Math.min(addresses.size, MAX_ADDRESSES)
  }

  #addressesOf(key: string, service: Service, current: Endpoints | undefined): ServiceAddresses {
    const known = this.#addresses.get(key)
    if (known && known.serviceVersion === service.metadata.resourceVersion) {
      known.update((pod) => this.#pods.get(pod))
      return known
    }
    const pods = this.#servicePods.podsOf(service)
    if (!known && !current) {
      this.#noteTrigger(key, service.metadata.creationTimestamp)
      for (const pod of pods) this.#noteTrigger(key, readyTransition(pod))
    }
    const fresh = new ServiceAddresses(service, pods, current?.subsets ?? [])
    this.#addresses.set(key, fresh)
    return fresh
  }

  async #write(
    service: Service,
    current: Endpoints | undefined,
    { subsets, isTruncated }: Subsets,
    labels: Record<string, string>,
  ): Promise<void> {
    const { namespace = '', name = '' } = service.metadata
    const client = this.#context.client.resource(endpointsKind).namespace(namespace)
    const annotations = { ...current?.metadata.annotations }
    const triggerTime = this.#triggerTimes.get(objectKey(service))
    if (triggerTime === undefined) delete annotations[TRIGGER_TIME_ANNOTATION]
    else annotations[TRIGGER_TIME_ANNOTATION] = triggerTime
    if (isTruncated) annotations[OVER_CAPACITY_ANNOTATION] = 'truncated'
    else delete annotations[OVER_CAPACITY_ANNOTATION]
    const metadata = { ...(current?.metadata ?? { namespace, name }), labels, annotations }
    try {
      if (current) await client.update({ ...current, metadata, subsets })
      else await client.create({ metadata, subsets })
    } catch (error) {
      if (current === undefined && isNamespaceTerminating(error)) return
      this.#tellFailure(service, current !== undefined, error)
      throw error
    }
  }

  /** Losing a race is no news. */
  #tellFailure(service: Service, isUpdate: boolean, error: unknown): void {
    if (error instanceof ApiError && error.code === 409) return
    const { namespace, name } = service.metadata
    const about = { apiVersion: 'v1', kind: 'Endpoints', metadata: { namespace, name } as Endpoints['metadata'] }
    const why = error instanceof Error ? error.message : String(error)
    if (isUpdate)
      this.#context.events.event(
        about,
        'Warning',
        'FailedToUpdateEndpoint',
        `Failed to update endpoint ${namespace}/${name}: ${why}`,
      )
    else
      this.#context.events.event(
        about,
        'Warning',
        'FailedToCreateEndpoint',
        `Failed to create endpoint for service ${namespace}/${name}: ${why}`,
      )
  }

  async #delete(key: string): Promise<void> {
    const { namespace, name } = splitKey(key)
    try {
      await this.#context.client.resource(endpointsKind).namespace(namespace).delete(name)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  #forget(key: string): void {
    this.#addresses.delete(key)
    this.#triggerTimes.delete(key)
  }

  #podChanged(old: Pod | undefined, current: Pod | undefined): Iterable<string> {
    if (!concernsEndpoints(old, current)) return []
    const keys = this.#servicePods.servicesOfChange(old, current)
    const time = readyTransition(current)
    for (const key of keys) {
      const addresses = this.#addresses.get(key)
      if (!addresses) continue
      if (old) addresses.touch(old)
      if (current) addresses.touch(current)
      if (time !== readyTransition(old)) this.#noteTrigger(key, time)
    }
    return keys
  }

  #noteTrigger(key: string, time: string | undefined): void {
    const known = this.#triggerTimes.get(key)
    if (time !== undefined && (known === undefined || time < known)) this.#triggerTimes.set(key, time)
  }
}

function labelsOf(service: Service): Record<string, string> {
  const { [HEADLESS_LABEL]: _, ...labels } = service.metadata.labels ?? {}
  if (isHeadless(service)) labels[HEADLESS_LABEL] = ''
  return { ...labels, [LABEL.endpointsManagedBy]: MANAGER }
}
