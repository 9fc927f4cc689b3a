import { X509Certificate } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { AUTHENTICATED, type UserInfo } from '../identity.ts'
import { type IsUserCertificate, issuedBy } from './client-certificate.ts'

/** A proxy in front of this server that has found out itself who asks. It shows who it is by a client certificate. */
export interface RequestHeaderOptions {
  /** PEM of the authority of the proxy's certificate: it must sign for nobody else. */
  readonly ca: string
  /** The names its certificate may have; any when absent. */
  readonly allowedNames?: readonly string[]
  readonly usernameHeaders?: readonly string[]
  readonly groupHeaders?: readonly string[]
  readonly extraHeaderPrefixes?: readonly string[]
}

/** Whom a trusted proxy says that it speaks for. */
export type RequestHeaderAuthenticator = (socket: TLSSocket, headers: IncomingHttpHeaders) => UserInfo | undefined

export function requestHeaderAuthenticator(options: RequestHeaderOptions): RequestHeaderAuthenticator {
  const { allowedNames = [], usernameHeaders = ['x-remote-user'], groupHeaders = ['x-remote-group'] } = options
  const { extraHeaderPrefixes = ['x-remote-extra-'] } = options
  const isProxy = proxyCheck(issuedBy(options.ca), allowedNames)
  return (socket, headers) => {
    const name = usernameHeaders.map((header) => headers[header.toLowerCase()]).find((value) => value !== undefined)
    if (typeof name !== 'string' || name === '' || !isProxy(socket)) return undefined
    const groups = groupHeaders.flatMap((header) => headerValues(headers[header.toLowerCase()]))
    const extra = readExtra(headers, extraHeaderPrefixes)
    return { name, groups: [...groups, AUTHENTICATED], ...(Object.keys(extra).length > 0 && { extra }) }
  }
}

/** Looked at once per connection. */
function proxyCheck(isIssued: IsUserCertificate, allowedNames: readonly string[]): (socket: TLSSocket) => boolean {
  const known = new WeakMap<TLSSocket, boolean>()
  return (socket) => {
    let isGood = known.get(socket)
    if (isGood === undefined) {
      const certificate = socket.authorized ? socket.getPeerCertificate() : undefined
      const name = certificate?.subject?.CN ?? ''
      isGood =
        certificate?.raw !== undefined &&
        isIssued(new X509Certificate(certificate.raw)) &&
        (allowedNames.length === 0 || allowedNames.includes(String(name)))
      known.set(socket, isGood)
    }
    return isGood
  }
}

/** Headers that come several times are one text by now. */
export function headerValues(header: string | string[] | undefined): string[] {
  if (header === undefined) return []
  return Array.isArray(header) ? header : header.split(', ')
}

/** `x-remote-extra-scopes: a` -> `{ scopes: ['a'] }`; keys may be percent-encoded. */
export function readExtra(
  headers: IncomingHttpHeaders,
  prefixes: readonly string[],
): Record<string, readonly string[]> {
  const extra: Record<string, readonly string[]> = {}
  for (const name in headers)
    for (const prefix of prefixes)
      if (name.startsWith(prefix.toLowerCase()))
        extra[decodeKey(name.slice(prefix.length))] = headerValues(headers[name])
  return extra
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
