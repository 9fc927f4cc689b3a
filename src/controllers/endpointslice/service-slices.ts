import type { Pod, Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { type AddressType, addressTypesOf, TargetPorts } from './pod-endpoint.ts'
import { hasRightLabels, isOwnedBy } from './slice-metadata.ts'
import { SliceSet } from './slice-set.ts'

/** How long a slice that was just made may be missing from the informer before it counts as deleted. */
const SIGHT_LIMIT = 5000

interface KnownSlice {
  object: EndpointSlice
  readonly since: number
  /** The informer has shown it. */
  isSeen: boolean
}

/**
 * What is known of one Service's slices between two reconciles: what was written, also what the informer does not show
 * yet, and which pods changed since. From it a pod's change is carried out without looking at the other pods.
 */
export class ServiceSlices {
  readonly serviceUid: string | undefined
  readonly sets = new Map<string, SliceSet>()
  readonly ports: TargetPorts
  readonly serviceVersion: string | undefined
  /** Nothing was known of the Service before. */
  readonly isFirst: boolean
  /** The earliest change since the last write that some endpoint was caused by. */
  triggerTime: string | undefined
  /** Slices that are not this Service's any more: of a family it left, or of a namesake before it. */
  strangers: EndpointSlice[] = []
  hasTopologyHints = false
  /** Set while the sets do not tell the truth: at first, and after a write failed. */
  isBroken = true
  readonly #known: Map<string, KnownSlice>
  readonly #deleted: Set<string>
  #touched = new Map<string, string>()

  constructor(service: Service, capacity: number, before?: ServiceSlices) {
    this.serviceUid = service.metadata.uid
    this.serviceVersion = service.metadata.resourceVersion
    this.ports = new TargetPorts(service)
    this.isFirst = before === undefined
    this.#known = before ? before.#known : new Map()
    this.#deleted = before ? before.#deleted : new Set()
    this.triggerTime = before?.triggerTime
    this.hasTopologyHints = before?.hasTopologyHints ?? false
    for (const type of addressTypesOf(service)) this.sets.set(type, new SliceSet(type as AddressType, capacity))
  }

  touch(pod: Pod): void {
    this.#touched.set(pod.metadata.uid ?? '', `${pod.metadata.namespace}/${pod.metadata.name}`)
  }

  /** The pods that changed since the last call: uid and key. */
  takeTouched(): Map<string, string> {
    const touched = this.#touched
    this.#touched = new Map()
    return touched
  }

  noteTrigger(time: string | undefined): void {
    if (time !== undefined && (this.triggerTime === undefined || time < this.triggerTime)) this.triggerTime = time
  }

  /** Takes note of what the informer shows. True if all of it is known: nobody else has written. */
  agreesWith(shown: readonly EndpointSlice[], now: number): boolean {
    let agrees = true
    let seen = 0
    for (const slice of shown) {
      const known = this.#known.get(slice.metadata.name ?? '')
      if (!known) {
        if (!this.#deleted.has(slice.metadata.uid ?? '')) agrees = false
        continue
      }
      seen++
      known.isSeen = true
      if (known.object !== slice && versionOf(slice) >= versionOf(known.object)) {
        agrees &&= versionOf(slice) === versionOf(known.object)
        // The informer's copy is shared with others; keeping it instead of our own halves the memory.
        if (agrees) known.object = slice
      }
    }
    if (seen < this.#known.size && !this.#awaits(shown, now)) agrees = false
    if (this.#deleted.size > 0) this.#forgetDeleted(shown)
    return agrees
  }

  /** Whether all that the informer does not show was made just now; what was there before has been deleted. */
  #awaits(shown: readonly EndpointSlice[], now: number): boolean {
    const names = new Set(shown.map(({ metadata }) => metadata.name))
    let awaits = true
    for (const [name, known] of this.#known) {
      if (names.has(name) || (!known.isSeen && now - known.since < SIGHT_LIMIT)) continue
      this.#known.delete(name)
      awaits = false
    }
    return awaits
  }

  #forgetDeleted(shown: readonly EndpointSlice[]): void {
    const uids = new Set(shown.map(({ metadata }) => metadata.uid))
    for (const uid of this.#deleted) if (!uids.has(uid)) this.#deleted.delete(uid)
  }

  /** Builds the sets anew from the newest known state of each slice. */
  load(service: Service, shown: readonly EndpointSlice[], now: number): void {
    for (const slice of shown) {
      const { name = '', uid = '' } = slice.metadata
      const known = this.#known.get(name)
      if (this.#deleted.has(uid) || (known && versionOf(known.object) >= versionOf(slice))) continue
      this.#known.set(name, { object: slice, since: now, isSeen: true })
    }
    for (const { object } of this.#known.values()) {
      const set = this.sets.get(object.addressType)
      if (set && isOwnedBy(object, service)) set.load(object, !hasRightLabels(object, service))
      else this.strangers.push(object)
    }
    this.isBroken = false
  }

  wrote(object: EndpointSlice, now: number): void {
    const known = this.#known.get(object.metadata.name ?? '')
    if (known) known.object = object
    else this.#known.set(object.metadata.name ?? '', { object, since: now, isSeen: false })
  }

  deleted(object: EndpointSlice): void {
    this.#known.delete(object.metadata.name ?? '')
    this.#deleted.add(object.metadata.uid ?? '')
  }
}

/** Revisions are growing integers for everything in one store. */
const versionOf = (slice: EndpointSlice) => Number(slice.metadata.resourceVersion ?? 0)

/** When a pod last became ready or stopped being so: the moment from which its endpoint's delay counts. */
export const readyTransition = (pod: Pod | undefined) =>
  findCondition(pod?.status?.conditions, 'Ready')?.lastTransitionTime
