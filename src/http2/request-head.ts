import type { IncomingHttpHeaders } from 'node:http2'

/** Of a connection, which HTTP/2 does not speak of. */
const FORBIDDEN = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])
const PSEUDO = new Set([':method', ':scheme', ':path', ':authority'])
/** Had twice, the first one counts, as over HTTP/1.1; of other headers all values do. */
const SINGLE = new Set(['authorization', 'content-length', 'content-type', 'host', 'user-agent', 'from', 'referer'])

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const BAD_VALUE = /[\0\r\n]|^[ \t]|[ \t]$/
const NUMBER = /^\d{1,15}$/

/** The headers of a request, or undefined if they are none (RFC 9113, 8.2 and 8.3). */
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
    if (BAD_VALUE.test(value)) return undefined
    add(headers, name, value)
  }
  return isComplete(headers) ? headers : undefined
}

const COLON = ':'.charCodeAt(0)

function add(headers: IncomingHttpHeaders, name: string, value: string): void {
  const before = headers[name]
  if (before === undefined) headers[name] = name === '__proto__' ? undefined : value
  else if (!SINGLE.has(name)) headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`
}

function isComplete(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length']
  if (length !== undefined && !NUMBER.test(length)) return false
  // CONNECT, which has no path, is not served.
  return Boolean(headers[':method'] && headers[':scheme'] && headers[':path'])
}
