import type { ApiError } from '../../api/meta/api-error.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import type { Exchange } from '../http/exchange.ts'
import { ANONYMOUS, type UserInfo } from '../identity.ts'
import { Query } from './query.ts'
import { parsePath, type RequestInfo } from './request-info.ts'
import { verbOf } from './verb.ts'

/** Subresources that stream for as long as the client wants. */
const STREAMS = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

/** What the audit log wants to know of a request while the stages work on it. */
export interface RequestAudit {
  /** Authentication has found the sender. */
  identified(user: UserInfo): void
  /** The sender impersonates another user. */
  actingAs(user: UserInfo, constraint: string | undefined): void
  annotate(key: string, value: string): void
  /** Returns an authorizer that writes its decisions into the audit event. */
  noting(authorizer: Authorizer): Authorizer
}

/**
 * A request from the network, parsed once. The stages of the pipeline read it; they add the user and the audit event and
 * change nothing else.
 */
export class ApiRequest {
  readonly method: string
  readonly path: string
  readonly query: Query
  readonly info: RequestInfo
  /** A verb of Kubernetes (get, list, watch, …), or the HTTP method in lower case. */
  readonly verb: string
  /** Why the path cannot be read. */
  readonly malformed: unknown
  /** Headers, body and answer. */
  exchange: Exchange
  user: UserInfo = ANONYMOUS
  audit: RequestAudit | undefined = undefined

  constructor(exchange: Exchange) {
    const { method, url } = exchange
    const mark = url.indexOf('?')
    this.exchange = exchange
    this.method = method
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? Query.EMPTY : Query.parse(url.slice(mark + 1))
    let info: RequestInfo = { isResource: false, path: this.path }
    let malformed: ApiError | undefined
    try {
      info = parsePath(this.path)
    } catch (error) {
      malformed = error as ApiError
    }
    this.info = info
    this.malformed = malformed
    this.verb = verbOf(method, info, this.query)
  }

  /** True for exec, logs, proxies and the like, which last as long as the client wants. */
  get isStream(): boolean {
    return this.info.isResource && STREAMS.has(this.info.subresource)
  }

  get isLongRunning(): boolean {
    return this.isStream || (this.info.isResource && this.verb === 'watch')
  }
}

/** Serves a path that is not a resource. */
export type PathHandler = (request: ApiRequest) => void | Promise<void>

/** Finds the handler of a path, if there is one. */
export type PathTable = (path: string) => PathHandler | undefined
