import type { APIService } from '../../api/generated/apiregistration-v1.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import type { JsonObject } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { RemoteClient, type RemoteContext } from './remote-client.ts'

/** A resource as the APIResourceList of an extension API server tells it. */
export interface ApiResource {
  readonly name: string
  readonly singularName?: string
  readonly namespaced?: boolean
  readonly group?: string
  readonly version?: string
  readonly kind: string
  readonly verbs?: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
}

/** One version of a group that another server serves. */
export interface RemoteService {
  readonly object: APIService
  readonly group: string
  readonly version: string
  readonly client: RemoteClient
  readonly isAvailable: boolean
  /** As far as it has told. */
  resources: readonly ApiResource[]
  /** Where its OpenAPI v3 document is; undefined if it has none. */
  openApiV3: string | undefined
  openApiV2: { readonly etag: string; readonly document: JsonObject } | undefined
}

/** All APIServices that lead to other servers. */
export class RemoteServices implements Disposable {
  readonly #context: RemoteContext
  readonly #byName = new Map<string, RemoteService>()
  readonly #byGroup = new Map<string, Map<string, RemoteService>>()
  readonly #onChange: () => void

  constructor(context: RemoteContext, onChange: () => void) {
    this.#context = context
    this.#onChange = onChange
  }

  get size(): number {
    return this.#byName.size
  }

  list(): Iterable<RemoteService> {
    return this.#byName.values()
  }

  get(name: string): RemoteService | undefined {
    return this.#byName.get(name)
  }

  of(group: string, version: string): RemoteService | undefined {
    return this.#byGroup.get(group)?.get(version)
  }

  /** Returns true if where it leads has changed. */
  set(name: string, object: APIService | undefined): boolean {
    const known = this.#byName.get(name)
    if (!object?.spec?.service) {
      if (known) this.#remove(name, known)
      return false
    }
    const isSame = known !== undefined && deepEqual(known.object.spec, object.spec)
    if (known && !isSame) known.client[Symbol.dispose]()
    const { group = '', version = '' } = object.spec
    const service: RemoteService = {
      object,
      group,
      version,
      client: isSame ? known.client : new RemoteClient(this.#context, object.spec),
      isAvailable: findCondition(object.status?.conditions, 'Available')?.status === 'True',
      resources: known?.resources ?? [],
      openApiV3: known?.openApiV3,
      openApiV2: known?.openApiV2,
    }
    this.#byName.set(name, service)
    const versions = this.#byGroup.get(group) ?? new Map<string, RemoteService>()
    this.#byGroup.set(group, versions.set(version, service))
    if (!isSame || service.isAvailable !== known.isAvailable) this.#onChange()
    return !isSame
  }

  /** What it serves has been asked for anew. */
  told(service: RemoteService, told: Partial<Pick<RemoteService, 'resources' | 'openApiV3' | 'openApiV2'>>): void {
    const current = this.#byName.get(service.object.metadata.name!)
    if (!current) return
    const before = [current.resources, current.openApiV3, current.openApiV2?.etag]
    Object.assign(current, told)
    if (!deepEqual(before, [current.resources, current.openApiV3, current.openApiV2?.etag])) this.#onChange()
  }

  [Symbol.dispose](): void {
    for (const { client } of this.#byName.values()) client[Symbol.dispose]()
  }

  #remove(name: string, known: RemoteService): void {
    known.client[Symbol.dispose]()
    this.#byName.delete(name)
    this.#byGroup.get(known.group)?.delete(known.version)
    this.#onChange()
  }
}
