/**
 * What Node's HTTP/1.1 parser lets through and a server with others behind it must not: requests that two programs could
 * read differently.
 */
import type { IncomingMessage } from 'node:http'

/** A path with its query, or `*`. Spaces, control characters and fragments would change meaning on the way. */
const TARGET = /^(?:\/[\x21\x22\x24-\x7e]*|\*)$/
const ABSOLUTE = /^https?:\/\/([^/?#@]+)(?=[/?]|$)/i

/** Whether this can stand in a request line as its target, in the form that clients send to a server itself. */
export const isRequestTarget = (text: string) => TARGET.test(text)

export interface Refusal {
  readonly status: number
  readonly message: string
}

/** Why a request is refused, if it is. A target in absolute form is replaced by its path (RFC 9112, 3.2.2). */
export function refusalOf(request: IncomingMessage): Refusal | undefined {
  const { headers, rawHeaders, httpVersionMajor, httpVersionMinor } = request
  if (httpVersionMajor !== 1) return { status: 505, message: 'unsupported HTTP version' }
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined) {
    if (encoding.toLowerCase() !== 'chunked') return { status: 501, message: 'unsupported transfer encoding' }
    if (httpVersionMinor === 0) return { status: 400, message: 'HTTP/1.0 has no transfer encoding' }
  }
  if (countOf(rawHeaders, 'host') > 1) return { status: 400, message: 'too many Host headers' }
  const absolute = ABSOLUTE.exec(request.url!)
  if (absolute) {
    const rest = request.url!.slice(absolute[0].length)
    request.url = rest.startsWith('/') ? rest : `/${rest}`
    headers.host = absolute[1]!
  }
  return isRequestTarget(request.url!) ? undefined : { status: 400, message: 'malformed request target' }
}

/** How long the body of a request is: 0 without one, undefined if only its end tells. */
export function bodyLengthOf({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined
  return Number(headers['content-length'] ?? 0)
}

function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === name.length && rawHeaders[i]!.toLowerCase() === name) count++
  return count
}
