import type { Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import type { ResourceClient } from '../../client/client.ts'
import type { ServiceSlices } from './service-slices.ts'
import { newSliceMetadata, updatedSliceMetadata } from './slice-metadata.ts'
import type { PlannedSlice, SliceSet } from './slice-set.ts'

/** A namespace that is being deleted takes nothing new, and nothing new is needed there. */
export const isNamespaceTerminating = (error: unknown) =>
  error instanceof ApiError &&
  error.code === 403 &&
  (error.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false)

export const isNotFound = (error: unknown) => error instanceof ApiError && error.code === 404

/** Writes what a plan asks for. Each write that succeeded is remembered, whatever becomes of the others. */
export class SliceWriter {
  readonly #client: ResourceClient<EndpointSlice>
  readonly #service: Service
  readonly #state: ServiceSlices
  readonly #clock: Clock

  constructor(client: ResourceClient<EndpointSlice>, service: Service, state: ServiceSlices, clock: Clock) {
    this.#client = client.namespace(service.metadata.namespace ?? '')
    this.#service = service
    this.#state = state
    this.#clock = clock
  }

  async write(set: SliceSet): Promise<void> {
    const { create, update, remove } = set.changes()
    const isEnding = this.#service.metadata.deletionTimestamp !== undefined
    if (!isEnding) await this.#all(create, (slice) => this.#create(set, slice))
    await this.#all(update, (slice) => this.#update(slice))
    await this.#all(remove, (slice) => this.remove(slice.object!))
  }

  async remove(slice: EndpointSlice): Promise<void> {
    const { name = '', uid } = slice.metadata
    try {
      await this.#client.delete(name, { preconditions: { ...(uid && { uid }) } })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    this.#state.deleted(slice)
  }

  async #create(set: SliceSet, slice: PlannedSlice): Promise<void> {
    try {
      const metadata = newSliceMetadata(this.#service, this.#state.triggerTime)
      const { group, endpoints } = slice
      const draft = { metadata, addressType: set.addressType, endpoints: [...endpoints], ports: group.ports }
      this.#wrote(slice, await this.#client.create(draft))
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error
    }
  }

  async #update(slice: PlannedSlice): Promise<void> {
    const { object, group, endpoints } = slice
    const metadata = updatedSliceMetadata(object!.metadata, this.#service, this.#state.triggerTime)
    this.#wrote(
      slice,
      await this.#client.update({ ...object!, metadata, endpoints: [...endpoints], ports: group.ports }),
    )
  }

  #wrote(slice: PlannedSlice, object: EndpointSlice): void {
    slice.object = object
    // The same array that the informer will show, not one more.
    slice.endpoints = object.endpoints ?? []
    slice.isChanged = false
    this.#state.wrote(object, this.#clock.now())
  }

  async #all<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
    const results = await Promise.allSettled(items.map(act))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed) throw failed.reason
  }
}
