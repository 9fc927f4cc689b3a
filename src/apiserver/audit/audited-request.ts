import { randomUUID } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { formatMicroTime } from '../../api/meta/time.ts'
import type { Clock } from '../../base/clock.ts'
import type { AccessDecision, Authorizer } from '../authorization/authorizer.ts'
import type { Exchange, ResponseHeaders } from '../http/exchange.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { ANONYMOUS, type UserInfo } from '../identity.ts'
import { decodeProtobuf } from '../protobuf/decode.ts'
import { MAGIC } from '../protobuf/envelope.ts'
import { type AuditEvent, auditUser, type ObjectReference } from './event.ts'
import type { AuditAttributes, AuditDecision, Stage } from './policy.ts'

export interface AuditContext {
  readonly clock: Clock
  readonly evaluate: (attributes: AuditAttributes) => AuditDecision
  readonly write: (event: AuditEvent) => void
}

const NOBODY: UserInfo = { name: '', groups: [] }

/** What is written down of one request, from the moment that its sender is known. */
export class AuditedRequest {
  readonly id: string
  readonly #context: AuditContext
  readonly #exchange: Exchange
  readonly #info: RequestInfo
  readonly #verb: string
  readonly #received: string
  #decision: AuditDecision | undefined
  #event: AuditEvent | undefined
  #annotations: Record<string, string> | undefined

  constructor(context: AuditContext, exchange: Exchange, info: RequestInfo, verb: string) {
    this.#context = context
    this.#exchange = exchange
    this.#info = info
    this.#verb = verb
    const given = exchange.headers['audit-id']
    this.id = typeof given === 'string' && given !== '' && given.length <= 64 ? given : randomUUID()
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
    if (!event || bytes.length === 0) return
    const isNameless = event.objectRef && !event.objectRef.name && this.#verb === 'create'
    if (!this.wantsRequest && !isNameless) return
    const object = parse(bytes)
    if (object === undefined) return
    if (this.wantsRequest) event.requestObject = this.#shown(object)
    const { metadata } = object as { metadata?: { name?: string; namespace?: string; uid?: string } }
    if (event.objectRef && isNameless && metadata?.name) event.objectRef = { ...event.objectRef, name: metadata.name }
  }

  /** An answer of unknown length has begun. */
  responseStarted(status: number): void {
    if (!this.#event) return
    this.#event.responseStatus = { metadata: {}, code: status }
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
    if (object === undefined) return
    if (isFailure && isStatus(object))
      event.responseStatus = { ...statusOf(object as Record<string, unknown>), code: status }
    if (this.wantsResponse) event.responseObject = this.#shown(object)
  }

  /** The answer is out, or nobody is there to take it. */
  complete(): void {
    // Who could not be told who they are has been refused: that is written down under nobody's name.
    if (!this.#decision) {
      const { status } = this.#exchange
      this.#begin(status === 401 ? NOBODY : ANONYMOUS)
      if (this.#event && status) (this.#event as AuditEvent).responseStatus = { metadata: {}, code: status }
    }
    if (this.#event && !this.#event.responseStatus)
      this.#event.responseStatus = { metadata: {}, code: this.#exchange.status || 499 }
    this.#emit('ResponseComplete')
  }

  #begin(user: UserInfo): void {
    const info = this.#info
    const { url, headers } = this.#exchange
    const mark = url.indexOf('?')
    const path = mark < 0 ? url : url.slice(0, mark)
    const resource = info.isResource ? info : undefined
    this.#decision = this.#context.evaluate({ user, verb: this.#verb, path, resource })
    if (this.#decision.level === 'None') return
    const userAgent = headers['user-agent']
    this.#event = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: this.#decision.level,
      auditID: this.id,
      stage: 'RequestReceived',
      requestURI: url,
      verb: this.#verb,
      user: auditUser(user),
      sourceIPs: sourceIps(this.#exchange),
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

function sourceIps({ headers, socket }: Exchange): string[] {
  const forwarded = headers['x-forwarded-for']
  const before = typeof forwarded === 'string' ? forwarded.split(',').map((one) => one.trim()) : []
  const own = socket.remoteAddress
  return [...new Set([...before.filter((one) => one.length > 0 && one.length < 64), ...(own ? [own] : [])])]
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
