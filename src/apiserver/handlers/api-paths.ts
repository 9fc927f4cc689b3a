import { methodNotSupported, notAcceptable, pathNotFound } from '../../api/meta/api-error.ts'
import type { MetricsRegistry } from '../../base/metrics.ts'
import type { ConditionalRequest, OpenApi } from '../../openapi/openapi.ts'
import type { Discovery, DiscoveryDocument } from '../discovery/discovery.ts'
import { negotiateDiscovery } from '../discovery/negotiate.ts'
import type { Exchange, ResponseHeaders } from '../http/exchange.ts'
import { sendBody } from '../http/respond.ts'
import type { PathHandler, PathTable } from '../request/api-request.ts'
import type { Query } from '../request/query.ts'
import type { HealthSlis } from './health-slis.ts'

export interface ApiPathsContext {
  readonly discovery: Discovery
  readonly metrics: MetricsRegistry
  readonly slis: HealthSlis
  readonly openapi: OpenApi
  /** The text of /flagz. */
  readonly flagz: () => string
}

/** Everything below `/` that is no resource: discovery, OpenAPI, metrics. */
export function apiPaths(context: ApiPathsContext): PathTable {
  return (path) => {
    const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
    if (trimmed === '/metrics') return getOnly(({ exchange }) => sendMetrics(exchange, context.metrics.expose()))
    if (trimmed === '/metrics/slis')
      return getOnly(async ({ exchange }) => sendMetrics(exchange, await context.slis.expose()))
    if (trimmed === '/flagz') return getOnly(({ exchange }) => sendText(exchange, context.flagz()))
    if (trimmed.startsWith('/openapi/'))
      return getOnly(({ exchange, query }) => sendOpenApi(context.openapi, exchange, trimmed, query))
    if (trimmed === '/api' || trimmed.startsWith('/api/') || trimmed === '/apis' || trimmed.startsWith('/apis/')) {
      return getOnly(({ exchange }) => sendDiscovery(context.discovery, exchange, trimmed))
    }
    if (trimmed === '/') return getOnly(({ exchange }) => sendIndex(exchange))
    return undefined
  }
}

function getOnly(handler: PathHandler): PathHandler {
  return (request) => {
    const { method, path } = request
    if (method !== 'GET' && method !== 'HEAD') throw methodNotSupported({ group: '', resource: path }, method)
    return handler(request)
  }
}

const INDEX = [
  '/api',
  '/api/v1',
  '/apis',
  '/flagz',
  '/healthz',
  '/livez',
  '/metrics',
  '/metrics/slis',
  '/openapi/v2',
  '/openapi/v3',
  '/readyz',
  '/version',
]

function sendIndex(exchange: Exchange): void | Promise<void> {
  return sendBody(exchange, 200, 'application/json', Buffer.from(`${JSON.stringify({ paths: INDEX }, null, 2)}\n`))
}

function sendMetrics(exchange: Exchange, metrics: string): void | Promise<void> {
  return sendBody(exchange, 200, 'text/plain; version=0.0.4; charset=utf-8', Buffer.from(metrics))
}

function sendText(exchange: Exchange, text: string): void | Promise<void> {
  return sendBody(exchange, 200, 'text/plain; charset=utf-8', Buffer.from(text))
}

async function sendOpenApi(openapi: OpenApi, exchange: Exchange, path: string, query: Query): Promise<void> {
  const { accept, 'if-none-match': ifNoneMatch } = exchange.headers
  const answer = await openApiAnswer(openapi, path, query.get('hash'), { accept, ifNoneMatch })
  if (answer.status === 404) throw pathNotFound()
  if (answer.status === 406) throw notAcceptable(['application/json'])
  const { 'Content-Type': contentType = 'application/json', ...headers } = answer.headers
  if (answer.status !== 200) return exchange.send(answer.status, headers, answer.body)
  await sendBody(exchange, 200, contentType, answer.body, [], headers)
}

function openApiAnswer(openapi: OpenApi, path: string, hash: string, request: ConditionalRequest) {
  if (path === '/openapi/v2') return openapi.v2(request)
  if (path === '/openapi/v3') return openapi.v3Index()
  return openapi.v3(path.slice('/openapi/v3/'.length), hash, request)
}

function sendDiscovery(discovery: Discovery, exchange: Exchange, path: string): void {
  const document = findDocument(discovery, exchange, path)
  if (!document) throw pathNotFound()
  const headers: ResponseHeaders = {
    'content-type': document.contentType,
    'cache-control': 'public',
    etag: document.etag,
    vary: 'Accept',
  }
  const isKnown = exchange.headers['if-none-match'] === document.etag
  exchange.send(isKnown ? 304 : 200, headers, isKnown ? [] : document.body)
}

function findDocument(discovery: Discovery, exchange: Exchange, path: string): DiscoveryDocument | undefined {
  const [, root, first = '', second = '', ...more] = path.split('/')
  if (more.length > 0) return undefined
  if (root === 'api') {
    if (first === '') return discovery.legacy(formOf(exchange))
    return second === '' ? discovery.resources('', first) : undefined
  }
  if (first === '') return discovery.groups(formOf(exchange))
  return second === '' ? discovery.group(first) : discovery.resources(first, second)
}

function formOf(exchange: Exchange): 'plain' | 'v2' | 'v2beta1' {
  const form = negotiateDiscovery(exchange.headers.accept)
  if (!form) throw notAcceptable(['application/json'])
  return form
}
