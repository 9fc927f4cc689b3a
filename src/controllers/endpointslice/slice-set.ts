import type { Endpoint, EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { type AddressType, type PortGroup, portGroup } from './pod-endpoint.ts'

/** One slice as it is and as it should become. */
export interface PlannedSlice {
  /** As the server has it; undefined while it has none. */
  object: EndpointSlice | undefined
  group: PortGroup
  /** Never changed in place: a new array for each change. */
  endpoints: readonly Endpoint[]
  isChanged: boolean
}

export interface SliceChanges {
  readonly create: PlannedSlice[]
  readonly update: PlannedSlice[]
  readonly remove: PlannedSlice[]
}

interface NewEndpoints {
  readonly group: PortGroup
  readonly endpoints: Endpoint[]
}

const NO_PORTS = portGroup([])

/**
 * The slices of one Service and address family: which endpoint is in which slice. One endpoint's change touches its
 * own slice and nothing else. Endpoints are known by the uid of their pod.
 */
export class SliceSet {
  readonly addressType: AddressType
  readonly #capacity: number
  readonly #slices = new Set<PlannedSlice>()
  readonly #sliceOf = new Map<string, PlannedSlice>()
  readonly #waiting = new Map<string, NewEndpoints>()
  #removed: PlannedSlice[] = []

  constructor(addressType: AddressType, capacity: number) {
    this.addressType = addressType
    this.#capacity = capacity
  }

  get slices(): ReadonlySet<PlannedSlice> {
    return this.#slices
  }

  /** The uids of all pods that are in some slice. */
  get uids(): Iterable<string> {
    return this.#sliceOf.keys()
  }

  /** Takes over a slice that exists. What nobody could have put there (no pod, a pod twice) is dropped from it. */
  load(object: EndpointSlice, isChanged: boolean): void {
    const all = object.endpoints ?? []
    const slice: PlannedSlice = { object, group: portGroup(object.ports ?? []), endpoints: all, isChanged }
    const known = all.filter((endpoint) => {
      const uid = endpoint.targetRef?.uid
      if (uid === undefined || this.#sliceOf.has(uid)) return false
      this.#sliceOf.set(uid, slice)
      return true
    })
    if (known.length < all.length) this.#change(slice, known)
    this.#slices.add(slice)
  }

  /** Puts a pod's endpoint where it belongs, or takes it out. `keepHints` leaves hints to whoever assigns them. */
  place(uid: string, endpoint: Endpoint | undefined, group: PortGroup, keepHints = false): void {
    const slice = this.#sliceOf.get(uid)
    const index = slice ? slice.endpoints.findIndex(({ targetRef }) => targetRef?.uid === uid) : -1
    if (slice && endpoint && slice.group.key === group.key) {
      this.#replace(slice, index, endpoint, keepHints)
      return
    }
    if (slice) {
      this.#sliceOf.delete(uid)
      this.#change(slice, slice.endpoints.toSpliced(index, 1))
    }
    if (endpoint) this.#await(endpoint, group)
  }

  /** Finds places for new endpoints with the fewest writes, drops empty slices, keeps one if all would be gone. */
  settle(): void {
    for (const { group, endpoints } of this.#waiting.values()) this.#distribute(group, endpoints)
    this.#waiting.clear()
    for (const slice of this.#slices) {
      if (slice.endpoints.length > 0) continue
      this.#slices.delete(slice)
      this.#removed.push(slice)
    }
    if (this.#slices.size === 0) this.#keepPlaceholder()
    this.#recycle()
  }

  changes(): SliceChanges {
    const create: PlannedSlice[] = []
    const update: PlannedSlice[] = []
    for (const slice of this.#slices) {
      if (!slice.object) create.push(slice)
      else if (slice.isChanged) update.push(slice)
    }
    const remove = this.#removed
    this.#removed = []
    return { create, update, remove }
  }

  #replace(slice: PlannedSlice, index: number, endpoint: Endpoint, keepHints: boolean): void {
    const old = slice.endpoints[index]!
    const hints = keepHints && endpoint.conditions?.ready ? old.hints : endpoint.hints
    const wanted = hints === endpoint.hints ? endpoint : { ...endpoint, ...(hints && { hints }) }
    if (!deepEqual(old, wanted)) this.#change(slice, slice.endpoints.with(index, wanted))
  }

  #change(slice: PlannedSlice, endpoints: readonly Endpoint[]): void {
    slice.endpoints = endpoints
    slice.isChanged = true
  }

  #await(endpoint: Endpoint, group: PortGroup): void {
    const known = this.#waiting.get(group.key)
    if (known) known.endpoints.push(endpoint)
    else this.#waiting.set(group.key, { group, endpoints: [endpoint] })
  }

  /** Slices that are written anyway come first, the fullest before others; then one that just has the room. */
  #distribute(group: PortGroup, endpoints: Endpoint[]): void {
    const slices = [...this.#slices].filter((slice) => slice.group.key === group.key)
    slices.sort((a, b) => b.endpoints.length - a.endpoints.length)
    let next = 0
    const fill = (slice: PlannedSlice) => {
      const added = endpoints.slice(next, next + this.#capacity - slice.endpoints.length)
      next += added.length
      if (added.length === 0) return
      for (const { targetRef } of added) this.#sliceOf.set(targetRef!.uid!, slice)
      this.#change(slice, [...slice.endpoints, ...added])
    }
    for (const slice of slices) if (slice.isChanged && next < endpoints.length) fill(slice)
    while (next < endpoints.length) {
      const left = endpoints.length - next
      const roomy =
        left < this.#capacity &&
        slices.find((slice) => !slice.isChanged && slice.endpoints.length + left <= this.#capacity)
      fill(roomy || this.#newSlice(group))
    }
  }

  #newSlice(group: PortGroup): PlannedSlice {
    const slice: PlannedSlice = { object: undefined, group, endpoints: [], isChanged: true }
    this.#slices.add(slice)
    return slice
  }

  /** A Service without pods keeps one empty slice: the sign that somebody looked. */
  #keepPlaceholder(): void {
    const ready = this.#removed.findIndex((slice) => slice.group.key === NO_PORTS.key)
    const [slice] = ready >= 0 ? this.#removed.splice(ready, 1) : []
    if (slice) this.#slices.add(slice)
    else this.#newSlice(NO_PORTS)
  }

  /** An update of a slice that would be deleted is cheaper than a deletion and a creation. */
  #recycle(): void {
    for (const slice of this.#slices) {
      if (slice.object) continue
      const old = this.#removed.pop()
      if (!old) return
      slice.object = old.object
    }
  }
}
