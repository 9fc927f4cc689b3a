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
 * The verb of a request, as RBAC, flow control, audit and the handlers name it. For paths that are not resources it is the
 * HTTP method in lower case. A method that Kubernetes has no verb for has an empty one, which only a rule for all verbs allows.
 */
export function verbOf(method: string, info: RequestInfo, query: Query): string {
  if (!info.isResource) return method.toLowerCase()
  const verbs = VERBS[method]
  if (!verbs) return ''
  const verb = info.name === '' ? verbs[1] : verbs[0]
  if (verb === 'list' && query.flag('watch')) return 'watch'
  return info.watchPath && (verb === 'get' || verb === 'list') ? 'watch' : verb
}
