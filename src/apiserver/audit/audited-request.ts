import { randomUUID } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { ApiError, internalError } from '../../api/meta/api-error.ts'
import { formatMicroTime } from '../../api/meta/time.ts'
import { decodeProtobuf } from '../../api/protobuf/decode.ts'
import { MAGIC } from '../../api/protobuf/envelope.ts'
import type { Clock } from '../../base/clock.ts'
import type { AccessDecision, Authorizer } from '../authorization/authorizer.ts'
import type { ResponseHeaders } from '../http/exchange.ts'
import { ANONYMOUS, type UserInfo } from '../identity.ts'
import type { RequestAudit } from '../request/api-request.ts'
import type { RequestInfo } from '../request/request-info.ts'
import { type AuditEvent, auditUser, type ObjectReference } from './event.ts'
import type { AuditAttributes, AuditDecision, Stage } from './policy.ts'

export interface AuditContext {
  readonly clock: Clock
  readonly evaluate: (attributes: AuditAttributes) => AuditDecision
  readonly write: (event: AuditEvent) => void
}

const NOBODY: UserInfo = { name: '', groups: [] }

/** A request, as far as its events tell of it besides who and what. */
export interface AuditedSource {
  readonly url: string
  readonly userAgent: string | undefined
  readonly sourceIPs: readonly string[]
  /** What the sender calls the request. */
  readonly id?: string | undefined
  /** The status of the answer so far; 0 if there is none. */
  readonly status: number
}

/** What is written down of one request, from the moment that its sender is known. */
export class AuditedRequest implements RequestAudit {
  readonly id: string
  readonly #context: AuditContext
  readonly #source: AuditedSource
  readonly #info: RequestInfo
  readonly #verb: string
  readonly #received: string
  #decision: AuditDecision | undefined
  #event: AuditEvent | undefined
  #annotations: Record<string, string> | undefined

  constructor(context: AuditContext, source: AuditedSource, info: RequestInfo, verb: string) {
    this.#context = context
    this.#source = source
    this.#info = info
    this.#verb = verb
    const { id } = source
    this.id = id !== undefined && id !== '' && id.length <= 64 ? id : randomUUID()
    this.#received = formatMicroTime(context.clock.now())
  }

  get wantsRequest(): boolean {
    return this.#decision?.level === 'Request' || this.#decision?.level === 'RequestResponse'
  }

  get wantsResponse(): boolean {
    return this.#decision?.level === 'RequestResponse'
  }

  /** Who asks is known: whether and what is written follows from that. */
  identified(user: UserInfo): void {
    this.#begin(user)
    this.#emit('RequestReceived')
  }

  actingAs(user: UserInfo, constraint: string | undefined): void {
    if (!this.#event) return
    this.#event.impersonatedUser = auditUser(user)
    if (constraint) this.#event.authenticationMetadata = { impersonationConstraint: constraint }
  }

  annotate(key: string, value: string): void {
    this.#annotations ??= {}
    this.#annotations[key] ??= value
  }

  /** Notes what is decided about this request. */
  noting(authorizer: Authorizer): Authorizer {
    const note = (decision: AccessDecision) => {
      this.annotate('authorization.k8s.io/decision', decision.allowed ? 'allow' : 'forbid')
      this.annotate('authorization.k8s.io/reason', decision.reason)
      return decision
    }
    return {
      decide: (user, attributes) => {
        const decision = authorizer.decide(user, attributes)
        // Whether they may be whom they act as is not what was asked for.
        if (attributes.verb.startsWith('impersonate')) return decision
        return decision instanceof Promise ? decision.then(note) : note(decision)
      },
    }
  }

  requestBody(bytes: Buffer): void {
    const event = this.#event
    if (!event || bytes.length === 0 || !(this.wantsRequest || this.#isNameless)) return
    const object = parse(bytes)
    if (object !== undefined) this.requestObject(object)
  }

  get #isNameless(): boolean {
    return this.#event?.objectRef !== undefined && !this.#event.objectRef.name && this.#verb === 'create'
  }

  requestObject(object: object): void {
    const event = this.#event
    if (!event) return
    if (this.wantsRequest) event.requestObject = this.#shown(object)
    const { metadata } = object as { metadata?: { name?: string; namespace?: string; uid?: string } }
    if (event.objectRef && this.#isNameless && metadata?.name)
      event.objectRef = { ...event.objectRef, name: metadata.name }
  }

  /** An answer of unknown length has begun. */
  responseStarted(status: number): void {
    this.#answered(status)
    this.#emit('ResponseStarted')
  }

  responseBody(status: number, headers: ResponseHeaders, body: Buffer | readonly Buffer[]): void {
    const event = this.#event
    if (!event) return
    event.responseStatus = { metadata: {}, code: status }
    const isFailure = status >= 400
    if (!isFailure && !this.wantsResponse) return
    const bytes = Buffer.isBuffer(body) ? body : Buffer.concat(body as readonly Buffer[])
    const object = parse(headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes)
    if (object !== undefined) this.responseObject(status, object)
  }

  responseObject(status: number, object: object): void {
    const event = this.#event
    if (!event) return
    event.responseStatus = { metadata: {}, code: status }
    if (status >= 400 && isStatus(object))
      event.responseStatus = { ...statusOf(object as Record<string, unknown>), code: status }
    if (this.wantsResponse) event.responseObject = this.#shown(object)
  }

  /** Does the work of a request from within this process; its answer or failure is written down. */
  async settle<T extends object>(status: number, work: () => Promise<T>): Promise<T> {
    try {
      const answer = await this.settled(work)
      if (this.wantsResponse) this.responseObject(status, answer)
      else this.#answered(status)
      return answer
    } finally {
      this.complete()
    }
  }

  /** Notes why the work failed, if it does. */
  async settled<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const failure = error instanceof ApiError ? error : internalError(String(error))
      this.responseObject(failure.code, failure.toStatus())
      throw error
    }
  }

  #answered(status: number): void {
    if (this.#event) this.#event.responseStatus = { metadata: {}, code: status }
  }

  /** The answer is out, or nobody is there to take it. */
  complete(): void {
    // Who could not be told who they are has been refused: that is written down under nobody's name.
    if (!this.#decision) {
      const { status } = this.#source
      this.#begin(status === 401 ? NOBODY : ANONYMOUS)
      if (this.#event && status) (this.#event as AuditEvent).responseStatus = { metadata: {}, code: status }
    }
    if (this.#event && !this.#event.responseStatus)
      this.#event.responseStatus = { metadata: {}, code: this.#source.status || 499 }
    this.#emit('ResponseComplete')
  }

  #begin(user: UserInfo): void {
    const info = this.#info
    const { url, userAgent, sourceIPs } = this.#source
    const mark = url.indexOf('?')
    const path = mark < 0 ? url : url.slice(0, mark)
    const resource = info.isResource ? info : undefined
    this.#decision = this.#context.evaluate({ user, verb: this.#verb, path, resource })
    if (this.#decision.level === 'None') return
    this.#event = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: this.#decision.level,
      auditID: this.id,
      stage: 'RequestReceived',
      requestURI: url,
      verb: this.#verb,
      user: auditUser(user),
      sourceIPs,
      ...(userAgent && { userAgent: userAgent.slice(0, 1024) }),
      ...(info.isResource && { objectRef: referenceOf(info) }),
      requestReceivedTimestamp: this.#received,
      stageTimestamp: this.#received,
    }
  }

  #emit(stage: Stage): void {
    if (!this.#event || this.#decision?.omitStages.has(stage)) return
    this.#event.stage = stage
    this.#event.stageTimestamp =
      stage === 'RequestReceived' ? this.#received : formatMicroTime(this.#context.clock.now())
    if (this.#annotations) this.#event.annotations = this.#annotations
    this.#context.write(this.#event)
  }

  #shown(object: object): unknown {
    if (!this.#decision?.omitManagedFields) return object
    const strip = (one: { metadata?: object }) =>
      one?.metadata && 'managedFields' in one.metadata
        ? { ...one, metadata: { ...one.metadata, managedFields: undefined } }
        : one
    const { items } = object as { items?: object[] }
    return Array.isArray(items) ? { ...object, items: items.map(strip) } : strip(object)
  }
}

function referenceOf(info: RequestInfo & { isResource: true }): ObjectReference {
  const { resource, namespace, name, group, version, subresource } = info
  return {
    resource,
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(group && { apiGroup: group }),
    apiVersion: version,
    ...(subresource && { subresource }),
  }
}

/** JSON, the patches among it, and protobuf, which tells itself what it is; YAML is left out. */
function parse(bytes: Buffer): object | undefined {
  const first = bytes.length > 0 ? String.fromCharCode(bytes[0]!) : ''
  try {
    if (bytes.subarray(0, MAGIC.length).equals(MAGIC))
      return decodeProtobuf(bytes, { apiVersion: '', kind: '' }).value as object
    if (first !== '{' && first !== '[') return undefined
    return JSON.parse(bytes.toString()) as object
  } catch {
    return undefined
  }
}

const isStatus = (object: object) => (object as { kind?: string }).kind === 'Status'

function statusOf({ metadata, status, message, reason, details }: Record<string, unknown>): object {
  return { metadata, status, message, reason, details }
}
