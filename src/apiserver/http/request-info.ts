import { badRequest } from '../../api/meta/api-error.ts'

/** What a path says, before anybody looked whether such a thing exists. */
export type RequestInfo = ResourceInfo | PathInfo

export interface ResourceInfo {
  readonly isResource: true
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  /** What follows the subresource: `/api/v1/nodes/a/proxy/these/parts`. */
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
  const isGroup = segments[1] === 'apis'
  const start = isCore ? 3 : 4
  if ((!isCore && !isGroup) || segments.length <= start || segments[start] === '') return { isResource: false, path }
  const group = isCore ? '' : segments[2]!
  const version = segments[start - 1]!
  let parts = segments.slice(start)
  const watchPath = parts[0] === 'watch' && parts.length > 1
  if (watchPath) parts = parts.slice(1)
  return { isResource: true, group, version, watchPath, ...resourceParts(parts.map(decodeSegment)) }
}

function resourceParts(
  parts: readonly string[],
): Pick<ResourceInfo, 'resource' | 'namespace' | 'name' | 'subresource' | 'rest'> {
  const [first = '', second = '', third = ''] = parts
  const isInside = first === 'namespaces' && second !== '' && third !== '' && !NAMESPACE_SUBRESOURCES.has(third)
  const inside = isInside ? parts.slice(2) : parts
  const [resource = '', name = '', subresource = ''] = inside
  return { resource, namespace: isInside ? second : '', name, subresource, rest: inside.slice(3).join('/') }
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
