import type { Kind, Verb } from '../../api/kind.ts'
import { ApiError, methodNotSupported, pathNotFound, unsupportedMediaType } from '../../api/meta/api-error.ts'
import type { PatchType } from '../../client/transport.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import type { ConversionThread } from '../http/conversion-thread.ts'
import type { Exchange } from '../http/exchange.ts'
import { essence, negotiate } from '../http/media-type.ts'
import { inFormat, sendBody, sendError } from '../http/respond.ts'
import type { UserInfo } from '../identity.ts'
import type { Connections } from '../proxy/connections.ts'
import type { Actions } from '../registry/actions.ts'
import type { Answer, ObjectPage } from '../registry/answer.ts'
import { betweenSteps } from '../registry/between-steps.ts'
import type { Machinery } from '../registry/machinery.ts'
import { perform } from '../registry/perform.ts'
import { watch } from '../registry/watch.ts'
import type { ApiRequest } from '../request/api-request.ts'
import type { Query } from '../request/query.ts'
import type { ResourceInfo } from '../request/request-info.ts'
import type { RequestBody, ResourceRequest } from '../request/resource-request.ts'
import { answerBody, type ViewContext } from './answer-body.ts'
import { isLargeList, listViewInTurns, prepareList } from './large-list.ts'
import type { ListBodies } from './list-body.ts'
import { protobufBody } from './protobuf-body.ts'
import { hasProtobuf, requestBody } from './request-body.ts'
import { streamWatch } from './watch-stream.ts'

export interface ResourceHandlerContext {
  readonly machinery: Machinery
  readonly actions: Actions
  readonly authorizer: Authorizer
  readonly lists: ListBodies
  readonly connections: Connections
}

/** What requests by the network need besides. */
export interface NetworkContext extends ResourceHandlerContext {
  readonly conversions: ConversionThread
  /** Who serves a group version that this server does not. */
  readonly delegate: (
    group: string,
    version: string,
  ) => ((exchange: Exchange, user: UserInfo) => Promise<void>) | undefined
}

/** Serves a request for a resource that its sender may make: finds the kind, reads the body, answers in the form asked for. */
export function handleResource(context: NetworkContext, request: ApiRequest, info: ResourceInfo): void | Promise<void> {
  const { exchange, user, query } = request
  const verb = handledVerb(request, info)
  const delegated = context.delegate(info.group, info.version)
  if (delegated) return delegated(exchange, user)
  const kind = context.machinery.kinds.byResource(info.group, info.version, info.resource)
  if (!kind) throw pathNotFound()
  checkScope(kind, info, verb)
  const connect = context.connections.handlerOf(kind, info.subresource)
  const annotate = annotator(request)
  if (connect) return connect({ exchange, info, user, query: query.parameters, annotate })
  const negotiated = negotiate(exchange.headers.accept, hasViews(kind, info), hasProtobuf(kind))
  const view: ViewContext = { negotiated, query, now: context.machinery.clock.now(), lists: context.lists }
  const asked = new HttpResourceRequest(request, kind, info, annotate)
  if (kind.deprecationWarning) asked.warnings.push(kind.deprecationWarning)
  if (verb === 'watch') return serveWatch(context, exchange, asked, view)
  if (verb === 'get' || verb === 'list') return serveRead(context, exchange, asked, view, verb)
  return serveWrite(context, exchange, asked, view, info, verb)
}

/** A method without a verb is for a server behind a proxy only; OPTIONS goes there as a read. */
function handledVerb({ verb, method }: ApiRequest, info: ResourceInfo): Verb {
  if (verb !== '') return verb as Verb
  if (method === 'OPTIONS' && info.subresource === 'proxy') return 'get'
  throw methodNotSupported({ group: info.group, resource: info.resource }, method)
}

function annotator({ audit }: ApiRequest): ResourceRequest['annotate'] {
  return audit && ((key, value) => audit.annotate(key, value))
}

/** The path must fit the kind: names and namespaces where they belong. */
function checkScope(kind: Kind, info: ResourceInfo, verb: Verb): void {
  const ref = { group: kind.group, resource: kind.plural }
  if (!kind.namespaced && info.namespace !== '') throw pathNotFound()
  if (info.watchPath && (verb !== 'watch' || info.subresource !== '')) throw pathNotFound()
  if (info.subresource !== '' && !kind.subresources[info.subresource]) throw pathNotFound()
  if (info.rest !== '' && kind.subresources[info.subresource]?.type !== 'action') throw pathNotFound()
  const isAll = kind.namespaced && info.namespace === ''
  if (isAll && info.name !== '' && verb !== 'watch') throw pathNotFound()
  const needsName = verb === 'update' || verb === 'patch'
  if (needsName && info.name === '') throw methodNotSupported(ref, verb)
  if (verb === 'create' && info.subresource === '' && (info.name !== '' || isAll)) throw methodNotSupported(ref, verb)
  if (verb === 'deletecollection' && isAll) throw methodNotSupported(ref, verb)
}

/** Most reads are answered from a cache without waiting for anything, so nothing here waits unless it must. */
function serveRead(
  context: NetworkContext,
  exchange: Exchange,
  request: HttpResourceRequest,
  view: ViewContext,
  verb: 'get' | 'list',
): void | Promise<void> {
  const answer = perform(context.machinery, context.actions, verb, request)
  if (!(answer instanceof Promise)) return respond(context, exchange, request, answer, view)
  return answer.then((late) => respond(context, exchange, request, late, view))
}

async function serveWrite(
  context: NetworkContext,
  exchange: Exchange,
  request: HttpResourceRequest,
  view: ViewContext,
  info: ResourceInfo,
  verb: Exclude<Verb, 'watch' | 'get' | 'list'>,
): Promise<void> {
  const { machinery, actions } = context
  try {
    await readBody(context, exchange, request, info, verb)
    await respond(context, exchange, request, await perform(machinery, actions, verb, request), view)
  } catch (error) {
    // What was worth warning of may be why it failed.
    if (!(error instanceof ApiError) || request.warnings.length === 0) throw error
    sendError(exchange, error, request.warnings)
  }
}

/** A watch lives long and costs little: only its beginning counts as work in progress. */
async function serveWatch(
  context: ResourceHandlerContext,
  exchange: Exchange,
  request: HttpResourceRequest,
  view: ViewContext,
): Promise<void> {
  const { machinery } = context
  const { kind } = request
  if (!kind.verbs.includes('watch')) throw methodNotSupported({ group: kind.group, resource: kind.plural }, 'watch')
  const open = await watch(machinery, request)
  exchange.whenStarted?.()
  await streamWatch(exchange, open, view, machinery.clock, machinery.random)
}

function respond(
  context: NetworkContext,
  exchange: Exchange,
  request: HttpResourceRequest,
  answer: Answer,
  view: ViewContext,
): void | Promise<void> {
  if (answer.type !== 'list' || !isLargeList(answer.list))
    return send(context, exchange, request, statusOf(answer), bodyOf(answer, view), view)
  return largeBody(answer.kind, answer.list, view).then((body) => send(context, exchange, request, 200, body, view))
}

const statusOf = (answer: Answer) => (answer.type === 'list' ? 200 : answer.status)

const bodyOf = (answer: Answer, view: ViewContext) =>
  view.negotiated.format === 'protobuf' ? protobufBody(answer, view) : answerBody(answer, view)

async function largeBody(kind: Kind, list: ObjectPage, view: ViewContext): Promise<Buffer | Buffer[]> {
  const { as, format } = view.negotiated
  if (as !== 'object') return listViewInTurns(kind, list, view)
  await prepareList(kind, list, format === 'protobuf')
  return bodyOf({ type: 'list', kind, list }, view)
}

function send(
  context: NetworkContext,
  exchange: Exchange,
  { user, warnings }: HttpResourceRequest,
  status: number,
  body: Buffer | Buffer[],
  { negotiated, query }: ViewContext,
): void | Promise<void> {
  if (negotiated.format === 'protobuf') return sendBody(exchange, status, negotiated.contentType, body, warnings)
  const pretty = isPretty(query, exchange)
  if (negotiated.format === 'json' && !pretty) return sendBody(exchange, status, negotiated.contentType, body, warnings)
  const json = Buffer.isBuffer(body) ? body : Buffer.concat(body)
  return inFormat(json, negotiated, pretty, (form) => context.conversions.write(user.name, form, json)).then((text) =>
    sendBody(exchange, status, negotiated.contentType, text, warnings),
  )
}

/** Reviews and scales have one form only; asking for a table of them is refused. */
function hasViews(kind: Kind, info: ResourceInfo): boolean {
  if (info.subresource !== '') return kind.subresources[info.subresource]?.type === 'part'
  return kind.verbs.includes('get')
}

/** People who look with curl or a browser get readable JSON. */
function isPretty(query: Query, exchange: Exchange): boolean {
  if (query.has('pretty')) return query.flag('pretty')
  const agent = exchange.headers['user-agent'] ?? ''
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0')
}

class HttpResourceRequest implements ResourceRequest {
  readonly kind: Kind
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly query: Query
  readonly user: UserInfo
  readonly userAgent: string
  readonly warnings: string[] = []
  readonly annotate: ResourceRequest['annotate']
  body: RequestBody | undefined = undefined
  patchType: PatchType | undefined = undefined
  bodyBytes = 0

  constructor(request: ApiRequest, kind: Kind, info: ResourceInfo, annotate: ResourceRequest['annotate']) {
    this.kind = kind
    this.subresource = info.subresource
    this.namespace = info.namespace
    this.name = info.name
    this.query = request.query
    this.user = request.user
    this.userAgent = request.exchange.headers['user-agent'] ?? ''
    this.annotate = annotate
  }
}

async function readBody(
  { machinery, conversions }: NetworkContext,
  exchange: Exchange,
  request: HttpResourceRequest,
  info: ResourceInfo,
  verb: Verb,
): Promise<void> {
  const contentType = essence(exchange.headers['content-type'])
  if (verb === 'patch') request.patchType = patchTypeOf(contentType)
  const bytes = await exchange.readBody(machinery.clock)
  request.bodyBytes = bytes.length
  await betweenSteps(bytes.length)
  request.body = await requestBody(bytes, contentType, request.patchType, request.kind, info, (text) =>
    conversions.readYaml(request.user.name, text),
  )
}

const PATCH_TYPES: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]

function patchTypeOf(contentType: string): PatchType {
  if (!PATCH_TYPES.includes(contentType)) throw unsupportedMediaType(PATCH_TYPES)
  return contentType as PatchType
}
