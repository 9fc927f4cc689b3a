import type { KubernetesObject, ListMeta } from '../api/meta/object.ts'

/** The resource a call is about. */
export interface ResourceType {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly namespaced: boolean
}

export type CallVerb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml'

/** One request to the API, before any transport gave it a form. */
export interface ApiCall {
  readonly verb: CallVerb
  readonly resource: ResourceType
  readonly namespace?: string
  readonly name?: string
  readonly subresource?: string
  /** Query parameters by their API names: labelSelector, fieldSelector, limit, dryRun, fieldManager, ... */
  readonly query?: Readonly<Record<string, string>>
  /** The object, patch or DeleteOptions. The callee never changes it and does not keep it. */
  readonly body?: unknown
  readonly patchType?: PatchType
  readonly signal?: AbortSignal
}

export interface WatchCall {
  readonly resource: ResourceType
  readonly namespace?: string
  readonly query?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: KubernetesObject }
  | { readonly type: 'ERROR'; readonly object: unknown }

/** What a list, an object or a Status look like to a caller that has not looked yet. */
export interface ApiAnswer {
  readonly kind?: string
  readonly apiVersion?: string
  readonly metadata?: ListMeta & KubernetesObject['metadata']
  readonly items?: readonly KubernetesObject[]
}

/**
 * How a component reaches the API server: in the same process, or by HTTP. Both pass `transport.contract.ts`.
 * Objects handed out are shared and must not be changed. Failures are thrown as `ApiError`.
 */
export interface Transport extends AsyncDisposable {
  call(call: ApiCall): Promise<ApiAnswer>
  /** Events in order until the server ends the watch or the signal aborts. A Status event ends with `ApiError`. */
  watch(call: WatchCall): AsyncIterable<readonly WatchEvent[]>
}
