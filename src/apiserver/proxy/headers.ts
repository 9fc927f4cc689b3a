import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Exchange, ResponseHeaders } from '../http/exchange.ts'

type OutgoingHeaders = Record<string, string | string[]>

/** Of one connection only (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The API server has answered `Expect` itself, and frames bodies itself. */
const OWN = new Set(['content-length', 'expect'])

/** A pod must not open the API server's address to pages of other origins. */
const CROSS_ORIGIN = new Set([
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
])

/** By these headers the sender showed who it is. That is between the sender and the API server. */
const isCredential = (name: string) =>
  name === 'authorization' || name.startsWith('impersonate-') || name.startsWith('x-remote-')

/** Many backends read `x_remote_user` and `x-remote-user` as the same header. */
const isDisguised = (name: string) => {
  if (!name.includes('_')) return false
  const dashed = name.replaceAll('_', '-')
  return isCredential(dashed) || dashed.startsWith('x-forwarded-') || HOP_BY_HOP.has(dashed) || OWN.has(dashed)
}

const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.'

/** What a backend gets to see of a request, without anything about its body. */
export function forwardedHeaders(exchange: Exchange, isUpgrade: boolean): OutgoingHeaders {
  const { headers } = exchange
  const named = connectionHeaders(headers)
  const forwarded: OutgoingHeaders = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || name.startsWith(':') || isCredential(name) || isDisguised(name)) continue
    if (HOP_BY_HOP.has(name) || OWN.has(name) || named.has(name)) continue
    forwarded[name] = value
  }
  const host = headers[':authority'] ?? headers.host
  if (typeof host === 'string') forwarded.host = host
  const client = exchange.socket.remoteAddress
  const before = headers['x-forwarded-for']
  if (client) forwarded['x-forwarded-for'] = before ? `${before}, ${client}` : client
  withoutToken(forwarded)
  if (isUpgrade) Object.assign(forwarded, { connection: 'Upgrade', upgrade: headers.upgrade ?? '' })
  return forwarded
}

/** What the client gets to see of an answer; HTTP/2 knows no headers of a connection. */
export function returnedHeaders(response: IncomingMessage): ResponseHeaders {
  const named = connectionHeaders(response.headers)
  const returned: ResponseHeaders = {}
  for (const name in response.headers) {
    const value = response.headers[name]
    if (value === undefined || HOP_BY_HOP.has(name) || CROSS_ORIGIN.has(name)) continue
    // A length stays, whatever the backend says of it: it was enforced, and tells where the answer ends.
    if (named.has(name) && name !== 'content-length') continue
    returned[name] = value
  }
  return returned
}

function connectionHeaders(headers: IncomingHttpHeaders): Set<string> {
  const names = headers.connection?.split(',') ?? []
  return new Set(names.map((name) => name.trim().toLowerCase()))
}

/** WebSocket clients that cannot set headers send their token as one of the protocols. */
function withoutToken(forwarded: OutgoingHeaders): void {
  const value = forwarded['sec-websocket-protocol']
  if (value === undefined) return
  const protocols = String(value)
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '' && !one.startsWith(TOKEN_PROTOCOL))
  if (protocols.length > 0) forwarded['sec-websocket-protocol'] = protocols.join(', ')
  else delete forwarded['sec-websocket-protocol']
}
