import type { Kind, Verb } from '../../api/kind.ts'
import {
  ApiError,
  badRequest,
  methodNotSupported,
  pathNotFound,
  unsupportedMediaType,
} from '../../api/meta/api-error.ts'
import type { PatchType } from '../../client/transport.ts'
import type { UserInfo } from '../authentication/user.ts'
import { type Authorizer, authorize } from '../authorization/authorizer.ts'
import type { InFlight } from '../flow-control/in-flight.ts'
import type { Actions } from '../registry/actions.ts'
import { JSON_TYPE, YAML_TYPE } from '../registry/decode.ts'
import type { Machinery } from '../registry/machinery.ts'
import { perform } from '../registry/perform.ts'
import { Query } from '../registry/query.ts'
import type { RequestBody, ResourceRequest } from '../registry/request.ts'
import { watch } from '../registry/watch.ts'
import { answerBody, type ViewContext } from './answer-body.ts'
import type { Exchange } from './exchange.ts'
import type { ListBodies } from './list-body.ts'
import { essence, negotiate } from './media-type.ts'
import type { ResourceInfo } from './request-info.ts'
import { inFormat, sendBody, sendError } from './respond.ts'
import { streamWatch } from './watch-stream.ts'

export interface ResourceHandlerContext {
  readonly machinery: Machinery
  readonly actions: Actions
  readonly authorizer: Authorizer
  readonly inFlight: InFlight
  readonly lists: ListBodies
}

/** A request for a resource: which verb it is, who may, what was sent, and the answer in the form asked for. */
export async function handleResource(
  context: ResourceHandlerContext,
  exchange: Exchange,
  info: ResourceInfo,
  queryText: string,
  user: UserInfo,
): Promise<void> {
  const query = Query.parse(queryText)
  const kind = context.machinery.kinds.byResource(info.group, info.version, info.resource)
  const verb = verbOf(exchange.method, info, query)
  authorize(context.authorizer, user, {
    verb,
    resource: {
      group: info.group,
      resource: info.resource,
      namespace: info.namespace,
      name: info.name,
      subresource: info.subresource,
    },
  })
  if (!kind) throw pathNotFound()
  checkScope(kind, info, verb)
  const warnings: string[] = []
  try {
    await serve(context, exchange, kind, info, verb, query, user, warnings)
  } catch (error) {
    // What was worth warning of may be why it failed.
    if (!(error instanceof ApiError) || warnings.length === 0) throw error
    sendError(exchange, error, warnings)
  }
}

const VERBS: Readonly<Record<string, readonly [one: Verb, all: Verb] | undefined>> = {
  GET: ['get', 'list'],
  HEAD: ['get', 'list'],
  POST: ['create', 'create'],
  PUT: ['update', 'update'],
  PATCH: ['patch', 'patch'],
  DELETE: ['delete', 'deletecollection'],
}

function verbOf(method: string, info: ResourceInfo, query: Query): Verb {
  const verbs = VERBS[method]
  if (!verbs) throw methodNotSupported({ group: info.group, resource: info.resource }, method)
  const verb = info.name === '' ? verbs[1] : verbs[0]
  const isWatch =
    (verb === 'list' || verb === 'get') &&
    info.subresource === '' &&
    (info.watchPath || (verb === 'list' && query.flag('watch')))
  return isWatch ? 'watch' : verb
}

/** The path must fit the kind: names and namespaces where they belong. */
function checkScope(kind: Kind, info: ResourceInfo, verb: Verb): void {
  const ref = { group: kind.group, resource: kind.plural }
  if (!kind.namespaced && info.namespace !== '') throw pathNotFound()
  if (info.subresource !== '' && !kind.subresources[info.subresource]) throw pathNotFound()
  if (info.rest !== '' && kind.subresources[info.subresource]?.type !== 'action') throw pathNotFound()
  const isAll = kind.namespaced && info.namespace === ''
  if (isAll && info.name !== '' && verb !== 'watch') throw pathNotFound()
  const needsName = verb === 'update' || verb === 'patch'
  if (needsName && info.name === '') throw methodNotSupported(ref, verb)
  if (verb === 'create' && info.subresource === '' && (info.name !== '' || isAll)) throw methodNotSupported(ref, verb)
  if (verb === 'deletecollection' && isAll) throw methodNotSupported(ref, verb)
  if (info.name === '.' || info.name === '..') throw badRequest(`the name ${JSON.stringify(info.name)} is not valid`)
}

async function serve(
  context: ResourceHandlerContext,
  exchange: Exchange,
  kind: Kind,
  info: ResourceInfo,
  verb: Verb,
  query: Query,
  user: UserInfo,
  warnings: string[],
): Promise<void> {
  const { machinery, inFlight } = context
  const negotiated = negotiate(exchange.headers.accept, hasViews(kind, info))
  const view: ViewContext = { negotiated, query, now: machinery.clock.now(), lists: context.lists }
  const isMutating = verb !== 'get' && verb !== 'list' && verb !== 'watch'
  inFlight.enter(isMutating)
  let isInside = true
  try {
    const request = await readRequest(exchange, kind, info, verb, query, user, warnings)
    if (verb === 'watch') {
      if (!kind.verbs.includes('watch')) throw methodNotSupported({ group: kind.group, resource: kind.plural }, verb)
      const open = await watch(machinery, request)
      // A watch lives long and costs little; it does not count as work in progress.
      inFlight.leave(isMutating)
      isInside = false
      return await streamWatch(exchange, open, view, machinery.clock, machinery.random)
    }
    const answer = await perform(machinery, context.actions, verb, request)
    const body = answerBody(answer, view)
    const status = answer.type === 'list' ? 200 : answer.status
    const pretty = isPretty(query, exchange)
    if (negotiated.format === 'json' && !pretty)
      return await sendBody(exchange, status, negotiated.contentType, body, warnings)
    const json = Buffer.isBuffer(body) ? body : Buffer.concat(body)
    await sendBody(exchange, status, negotiated.contentType, await inFormat(json, negotiated, pretty), warnings)
  } finally {
    if (isInside) inFlight.leave(isMutating)
  }
}

/** Reviews and scales have one form only; asking for a table of them is refused. */
function hasViews(kind: Kind, info: ResourceInfo): boolean {
  if (info.subresource !== '') return kind.subresources[info.subresource]?.type === 'part'
  return kind.verbs.includes('get')
}

/** People who look with curl or a browser get readable JSON. */
function isPretty(query: Query, exchange: Exchange): boolean {
  if (query.has('pretty')) return query.flag('pretty')
  const agent = exchange.headers['user-agent']
  return agent !== undefined && /^(curl|Wget|Mozilla\/5\.0)/.test(agent)
}

async function readRequest(
  exchange: Exchange,
  kind: Kind,
  info: ResourceInfo,
  verb: Verb,
  query: Query,
  user: UserInfo,
  warnings: string[],
): Promise<ResourceRequest> {
  const contentType = essence(exchange.headers['content-type'])
  const patchType = verb === 'patch' ? patchTypeOf(contentType) : undefined
  return {
    kind,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    query,
    user,
    userAgent: exchange.headers['user-agent'] ?? '',
    body:
      verb === 'get' || verb === 'list' || verb === 'watch'
        ? undefined
        : await readBody(exchange, contentType, patchType),
    ...(patchType && { patchType }),
    get signal() {
      return exchange.signal
    },
    warnings,
  }
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

async function readBody(
  exchange: Exchange,
  contentType: string,
  patchType: PatchType | undefined,
): Promise<RequestBody | undefined> {
  const bytes = await exchange.readBody()
  if (bytes.length === 0) return undefined
  const isYaml = patchType === 'application/apply-patch+yaml' || contentType === YAML_TYPE
  if (isYaml && !looksLikeJson(bytes)) {
    const { decodeYaml } = await import('../../api/schema/decode-yaml.ts')
    return { type: 'decoded', decoded: await decodeYaml(bytes) }
  }
  if (!isYaml && !patchType && contentType !== '' && contentType !== JSON_TYPE) {
    throw unsupportedMediaType([JSON_TYPE, YAML_TYPE])
  }
  return { type: 'bytes', bytes, mediaType: JSON_TYPE }
}

/** JSON is YAML, and far quicker to read: kubectl sends its apply patches so. */
function looksLikeJson(bytes: Buffer): boolean {
  return bytes[0] === 0x7b
}
