import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { ApiError } from '../../api/meta/api-error.ts'
import type { Exchange, ResponseHeaders } from './exchange.ts'
import type { Negotiated } from './media-type.ts'

const compress = promisify(gzip)
/** Smaller answers are not worth compressing. */
const GZIP_THRESHOLD = 128 * 1024

/** Headers have little room: together warnings may not fill more than this. */
const WARNINGS_MAX_LENGTH = 4096
const LONG_WARNING = 256

/** `Warning` headers (RFC 7234). Text beyond ASCII goes as UTF-8 bytes, which header strings hold as Latin-1. */
export function warningHeaders(warnings: readonly string[]): string[] {
  const isLong = warnings.reduce((sum, warning) => sum + warning.length, 0) > WARNINGS_MAX_LENGTH
  const headers: string[] = []
  let room = WARNINGS_MAX_LENGTH
  for (const warning of warnings) {
    const text = isLong ? warning.slice(0, LONG_WARNING) : warning
    room -= text.length
    if (room < 0) break
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get into a header
    const quoted = text.replace(/[\x00-\x1f\x7f]+/g, ' ').replace(/[\\"]/g, '\\$&')
    headers.push(`299 - "${Buffer.from(quoted).toString('latin1')}"`)
  }
  return headers
}

/** Sends a whole body, compressed if it is large and the client likes it. */
export function sendBody(
  exchange: Exchange,
  status: number,
  contentType: string,
  body: Buffer | readonly Buffer[],
  warnings: readonly string[] = [],
  extraHeaders?: Readonly<Record<string, string>>,
): void | Promise<void> {
  const headers: ResponseHeaders = { 'content-type': contentType, 'cache-control': 'no-cache, private' }
  for (const name in extraHeaders) headers[name.toLowerCase()] = extraHeaders[name]!
  if (warnings.length > 0) headers.warning = warningHeaders(warnings)
  const size = Buffer.isBuffer(body)
    ? body.length
    : (body as readonly Buffer[]).reduce((sum, part) => sum + part.length, 0)
  if (size < GZIP_THRESHOLD || !acceptsGzip(exchange)) return exchange.send(status, headers, body)
  return sendCompressed(
    exchange,
    status,
    headers,
    Buffer.isBuffer(body) ? body : Buffer.concat(body as readonly Buffer[]),
  )
}

async function sendCompressed(
  exchange: Exchange,
  status: number,
  headers: ResponseHeaders,
  body: Buffer,
): Promise<void> {
  headers['content-encoding'] = 'gzip'
  headers.vary = 'Accept-Encoding'
  await exchange.send(status, headers, await compress(body, { level: constants.Z_BEST_SPEED }))
}

function acceptsGzip(exchange: Exchange): boolean {
  const accepted = exchange.headers['accept-encoding']
  return typeof accepted === 'string' && /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(accepted)
}

/** Every failure goes out as a Status. */
export function sendError(exchange: Exchange, error: ApiError, warnings: readonly string[] = []): void {
  const headers: ResponseHeaders = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }
  if (warnings.length > 0) headers.warning = warningHeaders(warnings)
  const retry = error.details?.retryAfterSeconds
  if (retry) headers['retry-after'] = retry
  exchange.send(error.code, headers, Buffer.from(`${JSON.stringify(error.toStatus())}\n`))
}

/** Converting more than this takes long. */
const LARGE_BYTES = 64 * 1024

/** JSON text of a body in the form asked for. A large one is converted by `convertLarge`, which does it elsewhere. */
export async function inFormat(
  json: Buffer,
  negotiated: Negotiated,
  pretty: boolean,
  convertLarge: (form: 'writeYaml' | 'indent') => Promise<Buffer>,
): Promise<Buffer> {
  const isJson = negotiated.format === 'json'
  if (isJson && !pretty) return json
  if (json.length > LARGE_BYTES) return convertLarge(isJson ? 'indent' : 'writeYaml')
  if (isJson) return Buffer.from(JSON.stringify(JSON.parse(json.toString()), null, 2))
  const { stringify } = await import('yaml')
  return Buffer.from(stringify(JSON.parse(json.toString()), { lineWidth: 0, aliasDuplicateObjects: false }))
}
