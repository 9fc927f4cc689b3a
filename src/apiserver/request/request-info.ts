import { badRequest } from '../../api/meta/api-error.ts'

/** What a path says, whether or not such a thing exists. */
export type RequestInfo = ResourceInfo | PathInfo

export interface ResourceInfo {
  readonly isResource: true
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  /** What follows the subresource, as it was sent: `/api/v1/nodes/a/proxy/these/parts`. */
  readonly rest: string
  /** The old form `/api/v1/watch/...`. */
  readonly watchPath: boolean
}

export interface PathInfo {
  readonly isResource: false
  readonly path: string
}

/** Subresources of a namespace itself; anything else after its name is a resource inside it. */
const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize'])

export function parsePath(path: string): RequestInfo {
  const segments = path.split('/')
  const isCore = segments[1] === 'api'
  const start = isCore ? 3 : 4
  if ((!isCore && segments[1] !== 'apis') || segments.length <= start || segments[start] === '') {
    return { isResource: false, path }
  }
  const watchPath = segments[start] === 'watch' && segments.length > start + 1
  const at = watchPath ? start + 1 : start
  const isInside = isInsideNamespace(segments, at)
  const resource = isInside ? at + 2 : at
  // What follows the subresource is for another server to read.
  const end = Math.min(segments.length, resource + 3)
  if (path.includes('%')) for (let i = start; i < end; i++) segments[i] = decodeSegment(segments[i]!)
  checkSegments(segments, start, end)
  return {
    isResource: true,
    group: isCore ? '' : segments[2]!,
    version: segments[start - 1]!,
    resource: segments[resource]!,
    namespace: isInside ? segments[at + 1]! : '',
    name: segments[resource + 1] ?? '',
    subresource: segments[resource + 2] ?? '',
    rest: segments.length > resource + 3 ? segments.slice(resource + 3).join('/') : '',
    watchPath,
  }
}

/**
 * Servers behind this one may resolve dot segments and drop empty ones. What they then serve is not what was authorized
 * here, so neither is let through.
 */
function checkSegments(segments: readonly string[], start: number, end: number): void {
  for (let i = start; i < segments.length; i++) {
    const segment = segments[i]!
    if (segment === '' && i < end && i < segments.length - 1)
      throw badRequest('the path is not valid: a segment is empty')
    const first = segment.charCodeAt(0)
    if ((first === DOT || first === PERCENT) && DOT_SEGMENT.test(segment))
      throw badRequest(`the path is not valid: ${JSON.stringify(segment)} is not allowed`)
  }
}

const DOT = '.'.charCodeAt(0)
const PERCENT = '%'.charCodeAt(0)
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i

/** `namespaces/a/pods` is about pods; `namespaces/a` and `namespaces/a/status` are about the namespace itself. */
function isInsideNamespace(segments: readonly string[], at: number): boolean {
  if (segments[at] !== 'namespaces' || !segments[at + 1] || !segments[at + 2]) return false
  return !NAMESPACE_SUBRESOURCES.has(segments[at + 2]!)
}

function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment
  let decoded: string
  try {
    decoded = decodeURIComponent(segment)
  } catch {
    throw badRequest('the path is not valid: malformed percent-encoding')
  }
  if (decoded.includes('/') || decoded.includes('\0'))
    throw badRequest('the path is not valid: a name may not contain "/"')
  return decoded
}
