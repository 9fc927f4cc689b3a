import type { SelfSubjectReview, TokenReview } from '../../generated/authentication-v1.ts'
import { defineKind } from '../../kind.ts'

/** Questions to the server: posted, answered in the status, never stored. */

export const tokenReviewKind = defineKind<TokenReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  namespaced: false,
  verbs: ['create'],
  schema: 'io.k8s.api.authentication.v1.TokenReview',
})

export const selfSubjectReviewKind = defineKind<SelfSubjectReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
  verbs: ['create'],
  schema: 'io.k8s.api.authentication.v1.SelfSubjectReview',
})
