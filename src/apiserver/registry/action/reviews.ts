import type {
  ResourceAttributes,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from '../../../api/generated/authorization-v1.ts'
import { badRequest, invalidObject } from '../../../api/meta/api-error.ts'
import { invalid, required } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { formatTime } from '../../../api/meta/time.ts'
import type { UserInfo } from '../../authentication/user.ts'
import type { AccessAttributes, Authorizer } from '../../authorization/authorizer.ts'
import type { Action } from '../actions.ts'
import type { Answer } from '../answer.ts'
import { decodeObject } from '../decode.ts'
import type { ResourceRequest } from '../request.ts'
import { parseWriteOptions } from '../write-options.ts'

/** Questions about access and identity: posted, answered in their status, never stored. */
export function reviewActions(authorizer: Authorizer): Readonly<Record<string, Action>> {
  return {
    'create selfsubjectreviews.authentication.k8s.io': async (machinery, request) => {
      const review = read(request)
      review.metadata = { creationTimestamp: formatTime(machinery.clock.now()) }
      return answer(review, { userInfo: userInfo(request.user) })
    },
    'create tokenreviews.authentication.k8s.io': async (_, request) => {
      const review = read(request) as KubernetesObject & { spec?: { token?: string } }
      if (!review.spec?.token) throw badRequest('token is required for TokenReview in authentication')
      return answer(review, { user: {} })
    },
    'create selfsubjectaccessreviews.authorization.k8s.io': async (_, request) => {
      const review = read(request) as SelfSubjectAccessReview
      return answer(review, decide(authorizer, request, request.user, review.spec))
    },
    'create subjectaccessreviews.authorization.k8s.io': async (_, request) => accessReview(authorizer, request),
    'create localsubjectaccessreviews.authorization.k8s.io': async (_, request) => accessReview(authorizer, request),
    'create selfsubjectrulesreviews.authorization.k8s.io': async (_, request) => rulesReview(authorizer, request),
  }
}

function read(request: ResourceRequest): KubernetesObject {
  return decodeObject(request, parseWriteOptions(request, 'CreateOptions'))
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

function accessReview(authorizer: Authorizer, request: ResourceRequest): Answer {
  const review = read(request) as SubjectAccessReview
  const { spec } = review
  if (!spec?.user && !spec?.groups?.length)
    throw refuse(request, 'spec.user', 'at least one of user or group must be specified')
  if (request.namespace && spec.resourceAttributes?.namespace !== request.namespace) {
    throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${request.namespace}`)
  }
  const user = { name: spec.user ?? '', groups: spec.groups ?? [], ...(spec.extra && { extra: spec.extra }) }
  return answer(review, decide(authorizer, request, user, spec))
}

interface AccessSpec {
  resourceAttributes?: ResourceAttributes
  nonResourceAttributes?: { path?: string; verb?: string }
}

function decide(
  authorizer: Authorizer,
  request: ResourceRequest,
  user: UserInfo,
  spec: AccessSpec | undefined,
): object {
  const { resourceAttributes, nonResourceAttributes } = spec ?? {}
  if (Boolean(resourceAttributes) === Boolean(nonResourceAttributes)) {
    throw refuse(
      request,
      'spec.resourceAttributes',
      'exactly one of nonResourceAttributes or resourceAttributes must be specified',
    )
  }
  const { allowed, reason } = authorizer.decide(user, attributesOf(resourceAttributes, nonResourceAttributes))
  return { allowed, ...(reason && { reason }) }
}

function attributesOf(
  resource: ResourceAttributes | undefined,
  path: { path?: string; verb?: string } | undefined,
): AccessAttributes {
  if (!resource) return { verb: path?.verb ?? '', path: path?.path ?? '' }
  return {
    verb: resource.verb ?? '',
    resource: {
      group: resource.group ?? '',
      resource: resource.resource ?? '',
      namespace: resource.namespace ?? '',
      name: resource.name ?? '',
      subresource: resource.subresource ?? '',
    },
  }
}

function rulesReview(authorizer: Authorizer, request: ResourceRequest): Answer {
  const review = read(request) as SelfSubjectRulesReview
  if (!review.spec?.namespace) throw badRequest('no namespace on request')
  const everything = authorizer.decide(request.user, { verb: '*', path: '*' }).allowed
  return answer(review, {
    resourceRules: everything ? [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] : [],
    nonResourceRules: everything ? [{ verbs: ['*'], nonResourceURLs: ['*'] }] : [],
    incomplete: false,
  })
}

function refuse(request: ResourceRequest, field: string, message: string): Error {
  const path = FieldPath.root(field)
  const error = message.includes('required') ? required(path, message) : invalid(path, null, message)
  return invalidObject(request.kind, '', [error])
}
