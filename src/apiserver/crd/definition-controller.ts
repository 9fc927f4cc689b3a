import type { CustomResourceDefinition } from '../../api/generated/apiextensions-v1.ts'
import { CLEANUP_FINALIZER } from '../../api/kinds/apiextensions/custom-resource-definition/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { WorkQueue } from '../../base/workqueue.ts'
import type { Transport } from '../../client/transport.ts'
import type { Machinery } from '../registry/machinery.ts'
import { terminatingStatus } from './definition-status.ts'
import { type CustomResources, DEFINITIONS, groupOfKey } from './definitions.ts'
import { deleteInstances } from './instances.ts'

/** How soon to look again whether held instances have gone. */
const INSTANCES_PERIOD_MS = 1000
/** How many definitions are worked on at once: a chart brings dozens, and the store takes their writes together. */
const WORKERS = 16
const RESOURCE = { ...DEFINITIONS, namespaced: false }

/** Writes what the server found out about definitions into their status, and ends those that are deleted. */
export class DefinitionController implements AsyncDisposable {
  readonly #machinery: Machinery
  readonly #transport: Transport
  readonly #customResources: CustomResources
  readonly #queue: WorkQueue
  #running: Promise<void> = Promise.resolve()

  constructor(machinery: Machinery, transport: Transport, customResources: CustomResources, queue: WorkQueue) {
    this.#machinery = machinery
    this.#transport = transport
    this.#customResources = customResources
    this.#queue = queue
  }

  start(): void {
    this.#running = Promise.all(Array.from({ length: WORKERS }, () => this.#run())).then(() => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#queue.shutDown()
    await this.#running
  }

  async #run(): Promise<void> {
    for (let key = await this.#queue.next(); key !== undefined; key = await this.#queue.next()) {
      try {
        await this.#reconcile(key)
        this.#queue.forget(key)
      } catch (error) {
        const isRace = error instanceof ApiError && (error.code === 409 || error.code === 404)
        if (!isRace)
          this.#machinery.log.warn('a definition could not be brought up to date', { key, error: String(error) })
        this.#queue.addRateLimited(key)
      } finally {
        this.#queue.done(key)
      }
    }
  }

  async #reconcile(key: string): Promise<void> {
    const definition = this.#customResources.definition(key)
    if (definition === undefined) return this.#wakeNeighbours(key)
    if (definition.metadata.deletionTimestamp) return this.#terminate(key, definition)
    const status = this.#customResources.judge(key, definition)
    if (status === definition.status) return
    await this.#update({ ...definition, status }, 'status')
    this.#wakeNeighbours(key)
  }

  /** A name that was given up may be what another definition waits for. */
  #wakeNeighbours(key: string): void {
    for (const other of this.#customResources.waiting(groupOfKey(key))) if (other !== key) this.#queue.add(other)
  }

  async #terminate(key: string, definition: CustomResourceDefinition): Promise<void> {
    const { finalizers = [] } = definition.metadata
    if (!finalizers.includes(CLEANUP_FINALIZER)) return
    const kind = this.#customResources.storageKind(key)
    const left = kind ? await deleteInstances(this.#machinery, kind) : 0
    if (left > 0) {
      const message = 'CustomResource deletion is in progress'
      const status = terminatingStatus(definition, true, 'InstanceDeletionInProgress', message, this.#now())
      if (JSON.stringify(status) !== JSON.stringify(definition.status))
        await this.#update({ ...definition, status }, 'status')
      this.#queue.addAfter(key, INSTANCES_PERIOD_MS)
      return
    }
    const kept = finalizers.filter((finalizer) => finalizer !== CLEANUP_FINALIZER)
    await this.#update({ ...definition, metadata: { ...definition.metadata, finalizers: kept } }, '')
  }

  async #update(body: CustomResourceDefinition, subresource: string): Promise<void> {
    await this.#transport.call({ verb: 'update', resource: RESOURCE, name: body.metadata.name!, subresource, body })
  }

  #now(): string {
    return formatTime(this.#machinery.clock.now())
  }
}
