import type { IncomingHttpHeaders } from 'node:http2'
import { isRequestTarget } from '../base/http-request.ts'

/** Headers of one connection, which HTTP/2 forbids (RFC 9113, 8.2.2). */
const FORBIDDEN = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])
const PSEUDO = new Set([':method', ':scheme', ':path', ':authority'])
/** Of several, the first counts, as over HTTP/1.1. Of all other headers every value counts. */
const SINGLE = new Set(['authorization', 'content-type', 'user-agent', 'from', 'referer'])
/** Two readers of a request could choose different ones, so a second one is an error. */
const ONCE = new Set(['content-length', 'host'])

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const METHOD = /^[!#$%&'*+\-.^_`|~0-9a-zA-Z]+$/
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]|^[ \t]|[ \t]$/
const NUMBER = /^\d{1,15}$/
/** The headers of a request, or undefined if they are malformed (RFC 9113, 8.2 and 8.3). */
export function requestHead(fields: readonly string[]): IncomingHttpHeaders | undefined {
  const headers: IncomingHttpHeaders = {}
  let isPseudoOver = false
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    const value = fields[i + 1]!
    if (name.charCodeAt(0) === COLON) {
      if (isPseudoOver || !PSEUDO.has(name) || headers[name] !== undefined) return undefined
    } else {
      isPseudoOver = true
      if (!NAME.test(name) || FORBIDDEN.has(name)) return undefined
      if (name === 'te' && value !== 'trailers') return undefined
    }
    if (BAD_VALUE.test(value) || !add(headers, name, value)) return undefined
  }
  return isComplete(headers) ? headers : undefined
}

/** Whether these may follow a body: ordinary headers that say nothing about the message itself. */
export function areTrailers(fields: readonly string[]): boolean {
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    if (!NAME.test(name) || FORBIDDEN.has(name) || ONCE.has(name) || BAD_VALUE.test(fields[i + 1]!)) return false
  }
  return true
}

const COLON = ':'.charCodeAt(0)

/** False if the header must not come twice. */
function add(headers: IncomingHttpHeaders, name: string, value: string): boolean {
  const before = headers[name]
  if (before === undefined) headers[name] = name === '__proto__' ? undefined : value
  else if (ONCE.has(name)) return false
  else if (!SINGLE.has(name)) headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`
  return true
}

/** CONNECT, which has no path, is not served. */
function isComplete(headers: IncomingHttpHeaders): boolean {
  const { ':method': method, ':scheme': scheme, ':path': path, ':authority': authority, host } = headers
  if (!method || !METHOD.test(method) || (scheme !== 'https' && scheme !== 'http')) return false
  if (!path || !isRequestTarget(path) || (path === '*' && method !== 'OPTIONS')) return false
  if (authority?.includes('@') || (host !== undefined && authority !== undefined && host !== authority)) return false
  const length = headers['content-length']
  return length === undefined || NUMBER.test(length)
}
