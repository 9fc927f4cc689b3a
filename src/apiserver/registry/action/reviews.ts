import type { TokenReview } from '../../../api/generated/authentication-v1.ts'
import type {
  LocalSubjectAccessReview,
  ResourceAttributes,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from '../../../api/generated/authorization-v1.ts'
import type { PolicyRule } from '../../../api/generated/rbac-v1.ts'
import { badRequest, invalidObject } from '../../../api/meta/api-error.ts'
import { limitErrors } from '../../../api/meta/error-limit.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { formatTime } from '../../../api/meta/time.ts'
import type { Authenticator } from '../../authentication/authenticator.ts'
import { InvalidToken } from '../../authentication/token.ts'
import type { AccessAttributes, Authorizer } from '../../authorization/authorizer.ts'
import { nodeOf, type UserInfo } from '../../identity.ts'
import type { ResourceRequest } from '../../request/resource-request.ts'
import type { Action } from '../actions.ts'
import type { Answer } from '../answer.ts'
import { decodeObject } from '../decode.ts'
import { parseWriteOptions } from '../write-options.ts'
import { selectorText } from './review-selectors.ts'

export interface ReviewContext {
  readonly authorizer: Authorizer
  readonly tokens: Pick<Authenticator, 'authenticateToken'>
  /** Every rule that holds for a user in a namespace. */
  rulesFor(user: UserInfo, namespace: string): readonly PolicyRule[]
  /** Somebody else decides too, whose rules nobody here knows. */
  readonly hasOtherRules: boolean
}

/** Questions about access and identity: posted, answered in their status, never stored. */
export function reviewActions(context: ReviewContext): Readonly<Record<string, Action>> {
  const accessReview: Action = (_, request) => reviewOfOther(context, request)
  return {
    'create selfsubjectreviews.authentication.k8s.io': async (machinery, request) => {
      const review = await read(request)
      review.metadata = { creationTimestamp: formatTime(machinery.clock.now()) }
      return answer(review, { userInfo: userInfo(request.user) })
    },
    'create tokenreviews.authentication.k8s.io': (_, request) => tokenReview(context, request),
    'create selfsubjectaccessreviews.authorization.k8s.io': async (_, request) => {
      const review = (await read(request)) as SelfSubjectAccessReview
      return answer(review, await decide(context.authorizer, request.user, review.spec))
    },
    'create subjectaccessreviews.authorization.k8s.io': accessReview,
    'create localsubjectaccessreviews.authorization.k8s.io': accessReview,
    'create selfsubjectrulesreviews.authorization.k8s.io': async (_, request) => rulesReview(context, request),
  }
}

async function read(request: ResourceRequest): Promise<KubernetesObject> {
  const review = await decodeObject(request, parseWriteOptions(request, 'CreateOptions'))
  if (request.kind.namespaced) review.metadata.namespace ||= request.namespace
  const errors = limitErrors(() => request.kind.validate?.(review) ?? [])
  if (errors.length > 0) throw invalidObject(request.kind, '', errors)
  return review
}

function answer(review: KubernetesObject, status: object): Answer {
  return { type: 'plain', status: 201, body: { ...review, status } as KubernetesObject }
}

const userInfo = (user: UserInfo) => ({
  username: user.name,
  ...(user.uid && { uid: user.uid }),
  groups: [...user.groups],
  ...(user.extra && { extra: user.extra }),
})

async function tokenReview({ tokens }: ReviewContext, request: ResourceRequest): Promise<Answer> {
  const review = (await read(request)) as TokenReview
  const { token, audiences } = review.spec ?? {}
  if (!token) throw badRequest('token is required for TokenReview in authentication')
  try {
    const found = await tokens.authenticateToken(token, audiences?.length ? audiences : undefined)
    if (!found) return answer(review, { user: {} })
    return answer(review, { authenticated: true, user: userInfo(found.user), audiences: [...found.audiences] })
  } catch (error) {
    if (!(error instanceof InvalidToken)) throw error
    return answer(review, { user: {}, error: error.message })
  }
}

async function reviewOfOther({ authorizer }: ReviewContext, request: ResourceRequest): Promise<Answer> {
  const review = (await read(request)) as SubjectAccessReview | LocalSubjectAccessReview
  if (request.namespace && review.metadata.namespace !== request.namespace)
    throw badRequest(`namespace on object (${review.metadata.namespace}) must match namespace: ${request.namespace}`)
  const { user = '', uid, groups = [], extra } = review.spec
  const who: UserInfo = { name: user, ...(uid && { uid }), groups, ...(extra && { extra }) }
  return answer(review, await decide(authorizer, who, review.spec))
}

interface AccessSpec {
  resourceAttributes?: ResourceAttributes
  nonResourceAttributes?: { path?: string; verb?: string }
}

async function decide(authorizer: Authorizer, user: UserInfo, spec: AccessSpec): Promise<object> {
  const { allowed, denied, reason } = await authorizer.decide(user, attributesOf(spec))
  return { allowed, ...(denied && { denied }), ...(reason && { reason }) }
}

function attributesOf({ resourceAttributes: resource, nonResourceAttributes: path }: AccessSpec): AccessAttributes {
  if (!resource) return { verb: path?.verb ?? '', path: path?.path ?? '' }
  const selectors = {
    fieldSelector: selectorText(resource.fieldSelector),
    labelSelector: selectorText(resource.labelSelector),
  }
  return {
    verb: resource.verb ?? '',
    resource: {
      group: resource.group ?? '',
      version: resource.version ?? '',
      resource: resource.resource ?? '',
      namespace: resource.namespace ?? '',
      name: resource.name ?? '',
      subresource: resource.subresource ?? '',
    },
    selectors: { get: (name) => selectors[name] },
  }
}

async function rulesReview(context: ReviewContext, request: ResourceRequest): Promise<Answer> {
  const review = (await read(request)) as SelfSubjectRulesReview
  const namespace = review.spec?.namespace
  if (!namespace) throw badRequest('no namespace on request')
  const rules = context.rulesFor(request.user, namespace)
  const problems = [
    ...(nodeOf(request.user) === undefined ? [] : ['node authorizer does not support user rule resolution']),
    ...(context.hasOtherRules ? ['webhook authorizer does not support user rule resolution'] : []),
  ]
  return answer(review, {
    resourceRules: rules.flatMap(({ nonResourceURLs, ...rule }) => (nonResourceURLs?.length ? [] : [rule])),
    nonResourceRules: rules.flatMap(({ verbs, nonResourceURLs }) =>
      nonResourceURLs?.length ? [{ verbs, nonResourceURLs }] : [],
    ),
    incomplete: problems.length > 0,
    ...(problems.length > 0 && { evaluationError: problems.join(', ') }),
  })
}
