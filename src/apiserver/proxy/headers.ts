import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Exchange, ResponseHeaders } from '../http/exchange.ts'

type OutgoingHeaders = Record<string, string | string[]>

/** Of one connection only (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** By these the sender showed who they are; that is between them and the API server. */
const isCredential = (name: string) =>
  name === 'authorization' || name.startsWith('impersonate-') || name.startsWith('x-remote-')

const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.'

/** What a backend gets to see of a request. */
export function forwardedHeaders(exchange: Exchange, isUpgrade: boolean): OutgoingHeaders {
  const { headers } = exchange
  const named = connectionHeaders(headers)
  const forwarded: OutgoingHeaders = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || name.startsWith(':') || isCredential(name)) continue
    if (HOP_BY_HOP.has(name) || named.has(name)) continue
    forwarded[name] = value
  }
  const host = headers[':authority'] ?? headers.host
  if (typeof host === 'string') forwarded.host = host
  const client = exchange.socket.remoteAddress
  const before = headers['x-forwarded-for']
  if (client) forwarded['x-forwarded-for'] = before ? `${before}, ${client}` : client
  if (isUpgrade) Object.assign(forwarded, upgradeHeaders(headers))
  return forwarded
}

/** What the client gets to see of an answer; HTTP/2 knows no headers of a connection. */
export function returnedHeaders(response: IncomingMessage): ResponseHeaders {
  const named = connectionHeaders(response.headers)
  const returned: ResponseHeaders = {}
  for (const name in response.headers) {
    const value = response.headers[name]
    if (value !== undefined && !HOP_BY_HOP.has(name) && !named.has(name)) returned[name] = value
  }
  return returned
}

function connectionHeaders(headers: IncomingHttpHeaders): Set<string> {
  const names = headers.connection?.split(',') ?? []
  return new Set(names.map((name) => name.trim().toLowerCase()))
}

function upgradeHeaders(headers: IncomingHttpHeaders): OutgoingHeaders {
  const protocols = headers['sec-websocket-protocol']
    ?.split(',')
    .map((one) => one.trim())
    .filter((one) => !one.startsWith(TOKEN_PROTOCOL))
  return {
    connection: 'Upgrade',
    upgrade: headers.upgrade ?? '',
    ...(protocols && { 'sec-websocket-protocol': protocols.join(', ') }),
  }
}
