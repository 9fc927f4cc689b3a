import {
  ApiError,
  alreadyExists,
  conflict,
  expired,
  MODIFIED_MESSAGE,
  objectNotFound,
} from '../../api/meta/api-error.ts'
import { matchesLabels } from '../../api/meta/label-selector.ts'
import { parseLabelSelector } from '../../api/meta/label-selector-parser.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { ApiAnswer, ApiCall, ResourceType, Transport, WatchCall, WatchEvent } from '../transport.ts'

interface Recorded {
  readonly resource: string
  readonly namespace: string
  readonly revision: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubernetesObject
}

/**
 * A small API server in memory, for tests of clients: one growing resourceVersion, optimistic locking, watches from
 * any kept revision. Faults can be ordered: ended and broken watches, forgotten history, failing calls.
 */
export class FakeApi implements Transport {
  #revision = 1
  #oldest = 1
  readonly #objects = new Map<string, KubernetesObject>()
  #history: Recorded[] = []
  readonly #wakers = new Set<() => void>()
  #epoch = 0
  #watchFailure: unknown
  readonly #callFailures: unknown[] = []
  /** Every call so far. */
  readonly calls: ApiCall[] = []
  readonly watches: WatchCall[] = []

  /** The next call fails so. */
  failNextCall(error: unknown): void {
    this.#callFailures.push(error)
  }

  /** Ends every open watch: cleanly, or with an error. */
  endWatches(error?: unknown): void {
    this.#epoch++
    this.#watchFailure = error
    this.#wake()
  }

  /** Forgets the history: a new watch from before gets 410; open ones go on. */
  compact(): void {
    this.#oldest = this.#revision
  }

  /** Sends every watcher the newest revision. */
  bookmark(): void {
    this.#record({ resource: '*', namespace: '', revision: this.#revision, type: 'MODIFIED', object: { metadata: {} } })
  }

  async call(call: ApiCall): Promise<ApiAnswer> {
    this.calls.push(call)
    call.signal?.throwIfAborted()
    if (this.#callFailures.length > 0) throw this.#callFailures.shift()
    switch (call.verb) {
      case 'list':
        return this.#list(call)
      case 'deletecollection':
        for (const object of this.#list(call).items!) this.#delete(call, keyOf(call.resource, object.metadata))
        return { kind: 'Status', apiVersion: 'v1' }
      case 'create':
        return this.#create(call)
      case 'get':
        return this.#existing(call).object
      case 'delete':
        return this.#delete(call, this.#existing(call).key)
      case 'update':
        return this.#update(call, call.body as KubernetesObject)
      case 'patch':
        return this.#update(call, mergePatch(this.#existing(call).object, call.body) as KubernetesObject)
    }
  }

  async *watch(call: WatchCall): AsyncGenerator<readonly WatchEvent[]> {
    this.watches.push(call)
    let after = Number(call.query?.resourceVersion ?? 0)
    if (after > this.#revision) throw new ApiError(504, 'Timeout', 'Timeout: Too large resource version')
    if (after < this.#oldest) throw expired(`too old resource version: ${after} (${this.#oldest})`)
    const epoch = this.#epoch
    while (!call.signal.aborted) {
      if (epoch !== this.#epoch) {
        if (this.#watchFailure !== undefined) throw this.#watchFailure
        return
      }
      const events = this.#history
        .filter((event) => event.revision > after || event.resource === '*')
        .flatMap((event) => this.#visible(call, event))
      this.#history = this.#history.filter((event) => event.resource !== '*')
      after = this.#revision
      if (events.length > 0) yield events
      else await this.#change(call.signal)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #visible(call: WatchCall, event: Recorded): WatchEvent[] {
    if (event.resource === '*') {
      return [{ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(event.revision) } } }]
    }
    const here =
      event.resource === resourceKey(call.resource) && (!call.namespace || call.namespace === event.namespace)
    return here && selected(call, event.object) ? [{ type: event.type, object: event.object }] : []
  }

  #list(call: ApiCall): ApiAnswer {
    const prefix = `${resourceKey(call.resource)}/${call.namespace ? `${call.namespace}/` : ''}`
    const items = [...this.#objects.keys()]
      .filter((key) => key.startsWith(prefix))
      .toSorted()
      .map((key) => this.#objects.get(key)!)
      .filter((object) => selected(call, object))
    return { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: String(this.#revision) }, items }
  }

  #create(call: ApiCall): KubernetesObject {
    const body = call.body as KubernetesObject
    const metadata = { ...body.metadata, ...(call.namespace && { namespace: call.namespace }) }
    const key = keyOf(call.resource, metadata)
    if (this.#objects.has(key)) throw alreadyExists(refOf(call.resource), metadata.name ?? '')
    return this.#write(call.resource, key, 'ADDED', { ...body, metadata })
  }

  #update(call: ApiCall, body: KubernetesObject): KubernetesObject {
    const { key, object } = this.#existing(call)
    const expected = body.metadata.resourceVersion
    if (expected && expected !== object.metadata.resourceVersion) {
      throw conflict(refOf(call.resource), call.name!, MODIFIED_MESSAGE)
    }
    return this.#write(call.resource, key, 'MODIFIED', body)
  }

  #delete(call: ApiCall, key: string): ApiAnswer {
    const object = this.#objects.get(key)!
    this.#write(call.resource, key, 'DELETED', object)
    this.#objects.delete(key)
    return { kind: 'Status', apiVersion: 'v1' }
  }

  #existing(call: ApiCall): { key: string; object: KubernetesObject } {
    const key = keyOf(call.resource, { name: call.name, namespace: call.namespace })
    const object = this.#objects.get(key)
    if (!object) throw objectNotFound(refOf(call.resource), call.name ?? '')
    return { key, object }
  }

  #write(type: ResourceType, key: string, event: Recorded['type'], body: KubernetesObject): KubernetesObject {
    const revision = ++this.#revision
    const object = { ...body, metadata: { ...body.metadata, resourceVersion: String(revision) } }
    this.#objects.set(key, object)
    this.#record({
      resource: resourceKey(type),
      namespace: body.metadata.namespace ?? '',
      revision,
      type: event,
      object,
    })
    return object
  }

  #record(event: Recorded): void {
    this.#history.push(event)
    this.#wake()
  }

  #wake(): void {
    for (const wake of [...this.#wakers]) wake()
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#wakers.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#wakers.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}

const resourceKey = (type: ResourceType) => `${type.group}/${type.plural}`
const keyOf = (type: ResourceType, meta: { name?: string | undefined; namespace?: string | undefined }) =>
  `${resourceKey(type)}/${type.namespaced ? `${meta.namespace ?? ''}/` : ''}${meta.name ?? ''}`
const refOf = (type: ResourceType) => ({ group: type.group, resource: type.plural })

function selected(call: ApiCall | WatchCall, object: KubernetesObject): boolean {
  const selector = call.query?.labelSelector
  return selector === undefined || matchesLabels(parseLabelSelector(selector), object.metadata.labels)
}

/** RFC 7386. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result: Record<string, unknown> = typeof target === 'object' && target !== null ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = mergePatch(result[name], value)
  }
  return result
}
