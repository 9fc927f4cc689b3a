import type { Node, Pod, Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import type { Indexes, Informer } from '../../client/informer.ts'
import { type Controller, type ControllerContext, ownKey, type ReconcileQueue, watch } from '../controller.ts'
import { podsByNode } from '../pods-by-node.ts'
import { podEndpoint, wantsTopologyHints, zoneOf } from './pod-endpoint.ts'
import { concernsEndpoints, ServicePods, selects, selectsPods } from './service-pods.ts'
import { readyTransition, ServiceSlices } from './service-slices.ts'
import { CONTROLLER_NAME, MANAGED_BY_LABEL, SERVICE_NAME_LABEL } from './slice-metadata.ts'
import type { SliceSet } from './slice-set.ts'
import { SliceWriter } from './slice-writer.ts'
import { assignTopologyHints } from './topology-hints.ts'
import { ZoneCapacity } from './zone-capacity.ts'

export interface EndpointSliceOptions {
  readonly maxEndpointsPerSlice?: number
  /** Milliseconds to gather changes of pods before they are written. */
  readonly updatesBatchPeriod?: number
}

/** Keeps the EndpointSlices of every Service with a selector equal to the pods it selects. */
export function endpointSliceController(context: ControllerContext, options: EndpointSliceOptions = {}): Controller {
  return new EndpointSliceController(context, options)
}

const BY_SERVICE = 'endpointslice/service'
const sliceIndexes: Indexes<EndpointSlice> = { [BY_SERVICE]: (slice) => serviceKeys(slice) }

function serviceKeys(slice: EndpointSlice | undefined): string[] {
  const { namespace, labels } = slice?.metadata ?? {}
  const name = labels?.[SERVICE_NAME_LABEL]
  return name && labels?.[MANAGED_BY_LABEL] === CONTROLLER_NAME ? [`${namespace}/${name}`] : []
}

class EndpointSliceController implements Controller {
  readonly name = 'endpointslice-controller'
  readonly workers = 5
  readonly watches
  readonly #context: ControllerContext
  readonly #capacity: number
  readonly #batchPeriod: number
  readonly #services: Informer<Service>
  readonly #pods: Informer<Pod>
  readonly #nodes: Informer<Node>
  readonly #slices: Informer<EndpointSlice>
  readonly #servicePods: ServicePods
  readonly #zones = new ZoneCapacity()
  readonly #states = new Map<string, ServiceSlices>()
  readonly #hintedServices = new Set<string>()
  #queue: ReconcileQueue | undefined

  constructor(context: ControllerContext, options: EndpointSliceOptions) {
    this.#context = context
    this.#capacity = options.maxEndpointsPerSlice ?? 100
    this.#batchPeriod = options.updatesBatchPeriod ?? 0
    this.#services = context.informers.informer(serviceKind)
    this.#pods = context.informers.informer(podKind, { indexes: podsByNode })
    this.#nodes = context.informers.informer(nodeKind)
    this.#slices = context.informers.informer(endpointSliceKind, { indexes: sliceIndexes })
    this.#servicePods = new ServicePods(this.#services, this.#pods)
    this.watches = [
      watch(this.#services, ownKey),
      watch(this.#pods, (old, current) => this.#later(this.#podChanged(old, current))),
      watch(this.#nodes, (old, current) => this.#later(this.#nodeChanged(old, current))),
      watch(this.#slices, (old, current) => new Set([...serviceKeys(old), ...serviceKeys(current)])),
    ]
  }

  start(queue: ReconcileQueue): void {
    this.#queue = queue
  }

  async reconcile(key: string): Promise<void> {
    const service = this.#services.get(key)
    if (!service || !selectsPods(service)) {
      this.#states.delete(key)
      this.#hintedServices.delete(key)
      return
    }
    const now = this.#context.clock.now()
    const shown = this.#slices.byIndex(BY_SERVICE, key)
    const before = this.#states.get(key)
    const isIncremental =
      before?.agreesWith(shown, now) === true &&
      !before.isBroken &&
      before.serviceVersion === service.metadata.resourceVersion
    const state = isIncremental ? before : this.#freshState(key, service, shown, before)
    try {
      this.#place(service, state, isIncremental)
      await this.#write(service, state)
    } catch (error) {
      state.isBroken = true
      throw error
    }
  }

  #freshState(key: string, service: Service, shown: readonly EndpointSlice[], before?: ServiceSlices): ServiceSlices {
    const isSame = before?.serviceUid === service.metadata.uid
    const state = new ServiceSlices(service, this.#capacity, isSame ? before : undefined)
    if (!isSame) state.noteTrigger(service.metadata.creationTimestamp)
    state.load(service, shown, this.#context.clock.now())
    this.#states.set(key, state)
    if (wantsTopologyHints(service)) this.#hintedServices.add(key)
    else this.#hintedServices.delete(key)
    return state
  }

  #place(service: Service, state: ServiceSlices, isIncremental: boolean): void {
    const touched = state.takeTouched()
    if (isIncremental) {
      for (const [uid, key] of touched) this.#placePod(service, state, uid, this.#pods.get(key))
    } else this.#placeAll(service, state)
    for (const set of state.sets.values()) {
      set.settle()
      this.#hint(service, state, set)
    }
  }

  #placeAll(service: Service, state: ServiceSlices): void {
    const pods = this.#servicePods.podsOf(service)
    const uids = new Set(pods.map((pod) => pod.metadata.uid ?? ''))
    for (const set of state.sets.values())
      for (const uid of [...set.uids]) if (!uids.has(uid)) this.#placePod(service, state, uid, undefined)
    for (const pod of pods) {
      if (state.isFirst) state.noteTrigger(readyTransition(pod))
      this.#placePod(service, state, pod.metadata.uid ?? '', pod)
    }
  }

  /** A pod of another uid under the same name is another pod. */
  #placePod(service: Service, state: ServiceSlices, uid: string, pod: Pod | undefined): void {
    const isThere = pod !== undefined && pod.metadata.uid === uid && selects(service, pod)
    const node = isThere ? this.#nodes.get(pod.spec?.nodeName ?? '') : undefined
    const keepHints = wantsTopologyHints(service)
    for (const [type, set] of state.sets) {
      const endpoint = isThere ? podEndpoint(service, pod, node, type as 'IPv4') : undefined
      set.place(uid, endpoint, isThere ? state.ports.of(pod) : { key: '', ports: [] }, keepHints)
    }
  }

  #hint(service: Service, state: ServiceSlices, set: SliceSet): void {
    const tell = (type: 'Normal' | 'Warning', change: 'Enabled' | 'Disabled', why: string) =>
      this.#context.events.event(
        service,
        type,
        `TopologyAwareHints${change}`,
        `${why}, addressType: ${set.addressType}`,
      )
    if (!wantsTopologyHints(service)) {
      if (state.hasTopologyHints) tell('Warning', 'Disabled', 'Topology Aware Hints has been disabled')
      state.hasTopologyHints = false
      return
    }
    const problem = assignTopologyHints(set.slices, this.#zones.ratios())
    if (problem !== undefined) tell('Warning', 'Disabled', problem)
    else if (!state.hasTopologyHints) tell('Normal', 'Enabled', 'Topology Aware Hints has been enabled')
    state.hasTopologyHints = problem === undefined
  }

  async #write(service: Service, state: ServiceSlices): Promise<void> {
    const { client, clock } = this.#context
    const { triggerTime } = state
    const writer = new SliceWriter(client.resource(endpointSliceKind), service, state, clock)
    for (const set of state.sets.values()) await writer.write(set)
    for (const slice of state.strangers) await writer.remove(slice)
    state.strangers = []
    if (state.triggerTime === triggerTime) state.triggerTime = undefined
  }

  #podChanged(old: Pod | undefined, current: Pod | undefined): Iterable<string> {
    if (!concernsEndpoints(old, current)) return []
    const keys = this.#servicePods.servicesOfChange(old, current)
    const time = readyTransition(current)
    for (const key of keys) {
      const state = this.#states.get(key)
      if (!state) continue
      if (old) state.touch(old)
      if (current) state.touch(current)
      if (time !== readyTransition(old)) state.noteTrigger(time)
    }
    return keys
  }

  /** A node's zone is part of its pods' endpoints, and so is that it exists; its CPU weighs in hints. */
  #nodeChanged(old: Node | undefined, current: Node | undefined): Set<string> {
    const keys = new Set<string>()
    const name = (current ?? old)!.metadata.name ?? ''
    if (this.#zones.update(name, current)) for (const key of this.#hintedServices) keys.add(key)
    if (old && current && zoneOf(old) === zoneOf(current)) return keys
    for (const pod of this.#pods.byIndex('node', name)) {
      for (const key of this.#servicePods.servicesOf(pod)) {
        this.#states.get(key)?.touch(pod)
        keys.add(key)
      }
    }
    return keys
  }

  /** Gathers changes for the batch period; without one they are worked on at once. */
  #later(keys: Iterable<string>): Iterable<string> {
    if (this.#batchPeriod === 0 || !this.#queue) return keys
    for (const key of keys) this.#queue.addAfter(key, this.#batchPeriod)
    return []
  }
}
