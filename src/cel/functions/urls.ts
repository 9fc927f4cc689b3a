import type { Functions } from '../library.ts'
import { CelError, type CelMap, type OpaqueValue } from '../values.ts'

class UrlValue implements OpaqueValue {
  readonly celKind = 'kubernetes.URL'
  readonly key: string
  readonly parts: UrlParts

  constructor(text: string, parts: UrlParts) {
    this.key = text
    this.parts = parts
  }
}

interface UrlParts {
  readonly scheme: string
  readonly hostname: string
  readonly port: string
  readonly path: string
  readonly query: string
}

const ABSOLUTE =
  /^([a-zA-Z][a-zA-Z0-9+.-]*):\/\/(?:[^@/?#]*@)?(\[[0-9a-fA-F:.%]+\]|[^:/?#[\]\s<>"\\^`{|}]*)(?::(\d*))?(\/[^?#\s]*)?(?:\?([^#\s]*))?(?:#\S*)?$/
const ROOTED = /^(\/[^?#\s]*)(?:\?([^#\s]*))?$/

/** Absolute addresses and paths, as a request line has them. */
function read(text: string): UrlValue | undefined {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined
  const rooted = ROOTED.exec(text)
  if (rooted) {
    const [, path = '', query = ''] = rooted
    return new UrlValue(text, { scheme: '', hostname: '', port: '', path, query })
  }
  const [, scheme = '', hostname = '', port = '', path = '', query = ''] = ABSOLUTE.exec(text) ?? []
  return scheme === '' ? undefined : new UrlValue(text, { scheme: scheme.toLowerCase(), hostname, port, path, query })
}

function url(text: string): UrlValue {
  const parsed = read(text)
  if (!parsed)
    throw new CelError(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
    )
  return parsed
}

function queryOf({ parts }: UrlValue): CelMap {
  const values: Map<string, string[]> = new Map()
  for (const [key, value] of new URLSearchParams(parts.query)) values.set(key, [...(values.get(key) ?? []), value])
  return values as CelMap
}

export const urls: Functions = {
  'url(string): kubernetes.URL': url,
  'isURL(string): bool': (text: string) => read(text) !== undefined,
  'kubernetes.URL.getScheme(): string': ({ parts }: UrlValue) => parts.scheme,
  'kubernetes.URL.getHost(): string': ({ parts }: UrlValue) => parts.hostname + (parts.port && `:${parts.port}`),
  'kubernetes.URL.getHostname(): string': ({ parts }: UrlValue) => parts.hostname.replace(/^\[|\]$/g, ''),
  'kubernetes.URL.getPort(): string': ({ parts }: UrlValue) => parts.port,
  'kubernetes.URL.getEscapedPath(): string': ({ parts }: UrlValue) => parts.path,
  'kubernetes.URL.getQuery(): map<string, list<string>>': queryOf,
}
