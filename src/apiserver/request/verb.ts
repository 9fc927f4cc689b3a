import type { Query } from './query.ts'
import type { RequestInfo } from './request-info.ts'

const VERBS: Readonly<Record<string, readonly [one: string, all: string] | undefined>> = {
  GET: ['get', 'list'],
  HEAD: ['get', 'list'],
  POST: ['create', 'create'],
  PUT: ['update', 'update'],
  PATCH: ['patch', 'patch'],
  DELETE: ['delete', 'deletecollection'],
}

/**
 * The verb of a request, as RBAC, flow control, audit and the handlers name it. Paths that are not resources, and methods
 * that Kubernetes has no verb for, have the HTTP method in lower case.
 */
export function verbOf(method: string, info: RequestInfo, query: Query): string {
  const verbs = info.isResource ? VERBS[method] : undefined
  if (!info.isResource || !verbs) return method.toLowerCase()
  const verb = info.name === '' ? verbs[1] : verbs[0]
  const reads = verb === 'get' || verb === 'list'
  if (!reads || info.subresource !== '') return verb
  return info.watchPath || (verb === 'list' && query.flag('watch')) ? 'watch' : verb
}
