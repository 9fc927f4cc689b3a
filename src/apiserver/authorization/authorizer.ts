import { ApiError, type ResourceRef } from '../../api/meta/api-error.ts'
import type { UserInfo } from '../authentication/user.ts'

/** What somebody wants to do. */
export interface AccessAttributes {
  readonly verb: string
  /** Undefined for paths that are no resources. */
  readonly resource?: ResourceRef & { readonly namespace: string; readonly name: string; readonly subresource: string }
  readonly path?: string
}

export interface AccessDecision {
  readonly allowed: boolean
  readonly reason: string
}

export interface Authorizer {
  decide(user: UserInfo, attributes: AccessAttributes): AccessDecision
}

export const MASTERS = 'system:masters'

/** Members of system:masters may do everything, all others nothing. */
export const mastersOnly: Authorizer = {
  decide: (user) =>
    user.groups.includes(MASTERS) ? { allowed: true, reason: `member of ${MASTERS}` } : { allowed: false, reason: '' },
}

/** Throws the 403 that tells who may not do what where. */
export function authorize(authorizer: Authorizer, user: UserInfo, attributes: AccessAttributes): void {
  const decision = authorizer.decide(user, attributes)
  if (!decision.allowed) throw denied(user, attributes, decision.reason)
}

function denied(user: UserInfo, { verb, resource, path }: AccessAttributes, reason: string): ApiError {
  const because = reason ? `: ${reason}` : ''
  if (!resource) {
    const message = `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}${because}`
    return new ApiError(403, 'Forbidden', message, {})
  }
  const { group, namespace, name, subresource } = resource
  const full = subresource ? `${resource.resource}/${subresource}` : resource.resource
  const what = group ? `${resource.resource}.${group}` : resource.resource
  const scope = namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope'
  const message = `${what}${name && ` ${JSON.stringify(name)}`} is forbidden: User ${JSON.stringify(user.name)} cannot ${verb} resource ${JSON.stringify(full)} in API group ${JSON.stringify(group)} ${scope}${because}`
  return new ApiError(403, 'Forbidden', message, {
    ...(name && { name }),
    ...(group && { group }),
    kind: resource.resource,
  })
}
