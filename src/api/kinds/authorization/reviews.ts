import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from '../../generated/authorization-v1.ts'
import { defineKind } from '../../kind.ts'
import { validateAccessReview, validateLocalAccessReview, validateSelfAccessReview } from './validation.ts'

/** Questions to the authorizer: posted, answered in the status, never stored. */

const group = 'authorization.k8s.io'
const version = 'v1'

export const subjectAccessReviewKind = defineKind<SubjectAccessReview>({
  group,
  version,
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
  verbs: ['create'],
  schema: 'io.k8s.api.authorization.v1.SubjectAccessReview',
  validate: validateAccessReview,
})

export const selfSubjectAccessReviewKind = defineKind<SelfSubjectAccessReview>({
  group,
  version,
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
  verbs: ['create'],
  schema: 'io.k8s.api.authorization.v1.SelfSubjectAccessReview',
  validate: validateSelfAccessReview,
})

export const localSubjectAccessReviewKind = defineKind<LocalSubjectAccessReview>({
  group,
  version,
  kind: 'LocalSubjectAccessReview',
  plural: 'localsubjectaccessreviews',
  verbs: ['create'],
  schema: 'io.k8s.api.authorization.v1.LocalSubjectAccessReview',
  validate: validateLocalAccessReview,
})

export const selfSubjectRulesReviewKind = defineKind<SelfSubjectRulesReview>({
  group,
  version,
  kind: 'SelfSubjectRulesReview',
  plural: 'selfsubjectrulesreviews',
  namespaced: false,
  verbs: ['create'],
  schema: 'io.k8s.api.authorization.v1.SelfSubjectRulesReview',
})
