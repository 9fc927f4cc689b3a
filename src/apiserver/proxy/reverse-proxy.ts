import { ApiError } from '../../api/meta/api-error.ts'
import { bodyToHandOn, type Exchange } from '../http/exchange.ts'
import { askBackend, type Backend } from './backend.ts'
import { carryAnswer } from './carry-answer.ts'
import { forwardedHeaders, returnedHeaders } from './headers.ts'
import type { Location } from './locations.ts'
import type { ConnectHandler, ConnectRequest } from './proxy-context.ts'
import { relayUpgrade } from './relay-upgrade.ts'
import { pageRewriters } from './rewrite-html.ts'
import { type ProxiedPlace, rewriteLocation } from './rewrite-location.ts'
import type { BackendAnswer } from './send-request.ts'

/** `.../proxy/<path>`: the request goes to a pod, a service or a node as if it had been sent there. */
export function reverseProxy(locate: Location): ConnectHandler {
  return async (context, request) => {
    const { exchange } = request
    const backend = await locate(context, request)
    const { prefix, path, query } = splitUrl(request)
    if (path === '' && (exchange.method === 'GET' || exchange.method === 'HEAD')) {
      exchange.send(301, { location: `${prefix}/${query}` }, [])
      return
    }
    try {
      const asked = (path || '/') + query
      if (exchange.takeOver) await relayUpgrade(exchange, backend, asked, context.clock)
      else await relayRequest(exchange, backend, asked, prefix)
    } catch (error) {
      if (error instanceof ApiError) throw error
      unreachable(exchange, error)
    }
  }
}

/** `/api/v1/.../proxy`, what follows it, and the query with its mark. */
function splitUrl({ exchange, info }: ConnectRequest): { prefix: string; path: string; query: string } {
  const mark = exchange.url.indexOf('?')
  const whole = mark < 0 ? exchange.url : exchange.url.slice(0, mark)
  const query = mark < 0 ? '' : exchange.url.slice(mark)
  const isBare = info.rest === '' && !whole.endsWith('/')
  const prefix = isBare ? whole : whole.slice(0, whole.length - info.rest.length - 1)
  return { prefix, path: isBare ? '' : `/${info.rest}`, query }
}

async function relayRequest(exchange: Exchange, backend: Backend, path: string, prefix: string): Promise<void> {
  const headers = forwardedHeaders(exchange, false)
  headers['x-forwarded-uri'] = prefix + path
  headers['x-forwarded-proto'] = 'https'
  if (headers.host) headers['x-forwarded-host'] = headers.host
  const body = bodyToHandOn(exchange)
  const asked = { method: exchange.method, path, headers, ...(body && { body }) }
  const answer = await askBackend(backend, asked, exchange.signal)
  const hosts = [new URL(backend.origin).host, ...[headers.host ?? []].flat()]
  await handBack(exchange, answer, { prefix, hosts })
}

async function handBack(exchange: Exchange, { response }: BackendAnswer, place: ProxiedPlace): Promise<void> {
  const headers = returnedHeaders(response)
  if (typeof headers.location === 'string') headers.location = rewriteLocation(headers.location, place)
  const status = response.statusCode ?? 502
  const through = exchange.method === 'HEAD' ? undefined : pageRewriters(response, place)
  if (through) {
    delete headers['content-encoding']
    delete headers['content-length']
  }
  await carryAnswer(response, exchange.relay(status, headers), through)
}

function unreachable(exchange: Exchange, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
  exchange.send(503, headers, Buffer.from(`error trying to reach service: ${message}`))
}
