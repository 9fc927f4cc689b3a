import type { Kind } from '../api/kind.ts'
import { apiVersionOf, type KubernetesObject, type ObjectList } from '../api/meta/object.ts'
import type { ApiAnswer, ApiCall, PatchType, ResourceType, Transport, WatchEvent } from './transport.ts'

/** The API by kinds: `client.resource(configMapKind).namespace('default').get('settings')`. */
export interface Client {
  readonly transport: Transport
  /** A kind brings its type along. */
  resource<T extends KubernetesObject>(kind: Kind<T>): ResourceClient<T>
  /** Any resource by its name, custom ones too. */
  resource<T extends KubernetesObject = KubernetesObject>(type: ResourceType): ResourceClient<T>
}

export interface ReadOptions {
  readonly signal?: AbortSignal
  readonly resourceVersion?: string
}

export interface ListOptions extends ReadOptions {
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly limit?: number
  readonly continue?: string
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan'
  readonly timeoutSeconds?: number
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue'> {
  readonly signal: AbortSignal
  readonly allowWatchBookmarks?: boolean
  readonly sendInitialEvents?: boolean
}

export interface WriteOptions {
  readonly signal?: AbortSignal
  readonly dryRun?: 'All'
  readonly fieldManager?: string
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
}

export interface PatchOptions extends WriteOptions {
  readonly subresource?: string
  readonly type?: PatchType
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string
  readonly force?: boolean
  readonly subresource?: string
}

export interface DeleteOptions {
  readonly signal?: AbortSignal
  readonly dryRun?: 'All'
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground'
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
}

export type TypedWatchEvent<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: T }

/** One resource, in one namespace or all of them. Objects it hands out are shared: never change them. */
export interface ResourceClient<T extends KubernetesObject> {
  /** The same resource in one namespace. */
  namespace(namespace: string): ResourceClient<T>
  get(name: string, options?: ReadOptions): Promise<T>
  list(options?: ListOptions): Promise<ObjectList<T>>
  /** All objects, fetched `pageSize` at a time. */
  pages(pageSize: number, options?: ListOptions): AsyncIterable<readonly T[]>
  create(object: T, options?: WriteOptions): Promise<T>
  update(object: T, options?: WriteOptions): Promise<T>
  updateStatus(object: T, options?: WriteOptions): Promise<T>
  /** A merge patch unless `type` says otherwise. */
  patch(name: string, patch: unknown, options?: PatchOptions): Promise<T>
  /** Server-side apply. */
  apply(object: T, options: ApplyOptions): Promise<T>
  /** The object that waits for its finalizers or grace period, or a Status when it is gone. */
  delete(name: string, options?: DeleteOptions): Promise<ApiAnswer>
  deleteCollection(options?: DeleteOptions, which?: ListOptions): Promise<ApiAnswer>
  watch(options: WatchOptions): AsyncIterable<readonly TypedWatchEvent<T>[]>
  /** Anything else at a name: scale, binding, eviction, token, ... */
  subresource(verb: 'get' | 'create' | 'update', name: string, subresource: string, body?: unknown): Promise<ApiAnswer>
}

export function createClient(transport: Transport): Client {
  return { transport, resource: (type: ResourceType) => resourceClient<never>(transport, type, undefined) }
}

function resourceClient<T extends KubernetesObject>(
  transport: Transport,
  type: ResourceType & { readonly kind?: string },
  namespace: string | undefined,
): ResourceClient<T> {
  // Kinds carry much more than a resource type; only this part goes along with each call.
  const resource = { group: type.group, version: type.version, plural: type.plural, namespaced: type.namespaced }

  function call(verb: ApiCall['verb'], parts: Omit<ApiCall, 'verb' | 'resource'>): Promise<unknown> {
    return transport.call({ verb, resource, ...(namespace !== undefined && { namespace }), ...defined(parts) })
  }
  function write(
    verb: 'create' | 'update',
    object: T,
    options: WriteOptions = {},
    subresource?: string,
  ): Promise<unknown> {
    const name = verb === 'create' ? undefined : object.metadata.name
    const target = namespace ?? object.metadata.namespace
    return call(verb, { body: named(object), name, namespace: target, subresource, ...optionsOf(options) })
  }
  /** The server wants apiVersion and kind; a kind knows its own. */
  function named(object: T): T {
    if (object.apiVersion !== undefined && object.kind !== undefined) return object
    return type.kind === undefined ? object : { apiVersion: apiVersionOf(type), kind: type.kind, ...object }
  }
  function patch(name: string, body: unknown, { subresource, type, ...options }: PatchOptions, target = namespace) {
    const patchType = type ?? 'application/merge-patch+json'
    return call('patch', { name, body, patchType, subresource, namespace: target, ...optionsOf(options) }) as Promise<T>
  }
  const list = (options: ListOptions = {}) => call('list', optionsOf(options)) as Promise<ObjectList<T>>

  return {
    namespace: (other) => resourceClient<T>(transport, type, other),
    get: (name, options = {}) => call('get', { name, ...optionsOf(options) }) as Promise<T>,
    list,
    async *pages(pageSize, options = {}) {
      let next: string | undefined
      do {
        const page = await list({ ...options, limit: pageSize, ...(next !== undefined && { continue: next }) })
        yield page.items
        next = page.metadata.continue
      } while (next)
    },
    create: (object, options) => write('create', object, options) as Promise<T>,
    update: (object, options) => write('update', object, options) as Promise<T>,
    updateStatus: (object, options) => write('update', object, options, 'status') as Promise<T>,
    patch: (name, body, options = {}) => patch(name, body, options),
    apply: (object, options) =>
      patch(
        object.metadata.name ?? '',
        named(object),
        { ...options, type: 'application/apply-patch+yaml' },
        namespace ?? object.metadata.namespace,
      ),
    delete: (name, options = {}) => call('delete', { name, ...deletion(options) }) as Promise<ApiAnswer>,
    deleteCollection(options = {}, which = {}) {
      return call('deletecollection', { ...optionsOf(which), ...deletion(options) }) as Promise<ApiAnswer>
    },
    watch({ signal, ...options }) {
      const place = namespace === undefined ? {} : { namespace }
      const events: AsyncIterable<readonly WatchEvent[]> = transport.watch({
        resource,
        ...place,
        signal,
        query: queryOf(options),
      })
      return events as AsyncIterable<readonly TypedWatchEvent<T>[]>
    },
    subresource: (verb, name, subresource, body) => call(verb, { name, subresource, body }) as Promise<ApiAnswer>,
  }
}

function optionsOf({ signal, ...query }: { readonly signal?: AbortSignal }): Pick<ApiCall, 'signal' | 'query'> {
  return { ...(signal && { signal }), query: queryOf(query) }
}

function deletion({ signal, ...options }: DeleteOptions): Pick<ApiCall, 'signal' | 'body'> {
  const { dryRun, ...rest } = options
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...rest, ...(dryRun && { dryRun: [dryRun] }) }
  return { ...(signal && { signal }), body }
}

function queryOf(options: object): Record<string, string> {
  const query: Record<string, string> = {}
  for (const [name, value] of Object.entries(options)) if (value !== undefined) query[name] = String(value)
  return query
}

/** Without the fields that are undefined, so that a later spread does not overwrite with nothing. */
function defined<O extends object>(object: O): O {
  const copy: Partial<O> = {}
  for (const name in object) if (object[name] !== undefined) copy[name] = object[name]
  return copy as O
}
