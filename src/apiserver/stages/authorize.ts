import { type AccessAttributes, authorize as allow } from '../authorization/authorizer.ts'
import type { ApiRequest } from '../request/api-request.ts'
import type { Stage } from './stage.ts'

/** Refuses what neither the node authorizer nor RBAC nor a webhook allows. */
export const authorize: Stage = ({ authorizer }, request, next) => {
  const pending = allow(request.audit?.noting(authorizer) ?? authorizer, request.user, accessOf(request))
  return pending ? pending.then(() => next(request)) : next(request)
}

/** What the request wants to do, as authorizers are asked. */
export function accessOf({ info, verb, query, path }: ApiRequest): AccessAttributes {
  return info.isResource ? { verb, resource: info, selectors: query } : { verb, path }
}
