import { ApiError, type ResourceRef } from '../../api/meta/api-error.ts'
import type { UserInfo } from '../identity.ts'

/** What somebody wants to do. */
export interface AccessAttributes {
  readonly verb: string
  /** Undefined for paths that are no resources. */
  readonly resource?: ResourceAccess
  readonly path?: string
  /** What a list, a watch or a deletion of many is limited to. */
  readonly selectors?: SelectorSource
}

export interface ResourceAccess extends ResourceRef {
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly version?: string
}

/** The query of a request, or the selectors of a review; empty text where there is none. */
export interface SelectorSource {
  get(name: 'fieldSelector' | 'labelSelector'): string
}

export interface AccessDecision {
  readonly allowed: boolean
  /** No other authorizer is asked. */
  readonly denied?: boolean
  readonly reason: string
}

/** Answers at once wherever it can: it is asked for every request. */
export interface Authorizer {
  decide(user: UserInfo, attributes: AccessAttributes): AccessDecision | Promise<AccessDecision>
}

export const MASTERS = 'system:masters'
export const NO_OPINION: AccessDecision = { allowed: false, reason: '' }

/** Members of system:masters may do everything, whatever else is written down. */
export const masters: Authorizer = {
  decide: (user) => (user.groups.includes(MASTERS) ? MASTERS_DECISION : NO_OPINION),
}
const MASTERS_DECISION: AccessDecision = { allowed: true, reason: '' }

/** Asks one after the other until somebody allows or denies; what nobody allows is denied. */
export function inOrder(authorizers: readonly Authorizer[]): Authorizer {
  const decideFrom = (
    first: number,
    user: UserInfo,
    attributes: AccessAttributes,
    reasons: readonly string[],
  ): AccessDecision | Promise<AccessDecision> => {
    let told = reasons
    for (let i = first; i < authorizers.length; i++) {
      const decision = authorizers[i]!.decide(user, attributes)
      if (decision instanceof Promise) return decision.then((late) => go(late, i, user, attributes, told))
      if (isFinal(decision)) return decision
      if (decision.reason !== '') told = [...told, decision.reason]
    }
    return told.length === 0 ? NO_OPINION : { allowed: false, reason: told.join(', ') }
  }
  const go = (
    late: AccessDecision,
    i: number,
    user: UserInfo,
    attributes: AccessAttributes,
    reasons: readonly string[],
  ) => (isFinal(late) ? late : decideFrom(i + 1, user, attributes, late.reason ? [...reasons, late.reason] : reasons))
  return { decide: (user, attributes) => decideFrom(0, user, attributes, NONE) }
}

const NONE: readonly string[] = []
const isFinal = ({ allowed, denied }: AccessDecision) => allowed || denied === true

/** Throws the 403 that tells who may not do what where; waits only if an authorizer has to. */
export function authorize(authorizer: Authorizer, user: UserInfo, attributes: AccessAttributes): void | Promise<void> {
  const decision = authorizer.decide(user, attributes)
  if (decision instanceof Promise)
    return decision.then((late) => {
      if (!late.allowed) throw accessDenied(user, attributes, late.reason)
    })
  if (!decision.allowed) throw accessDenied(user, attributes, decision.reason)
}

export function accessDenied(user: UserInfo, { verb, resource, path }: AccessAttributes, reason: string): ApiError {
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
