import type {
  LocalSubjectAccessReview,
  ResourceAttributes,
  SelfSubjectAccessReview,
  SelfSubjectAccessReviewSpec,
  SubjectAccessReview,
} from '../../generated/authorization-v1.ts'
import { type FieldError, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'

const SPEC = FieldPath.root('spec')

export function validateAccessReview({ spec }: SubjectAccessReview | LocalSubjectAccessReview): FieldError[] {
  const errors = validateAttributes(spec)
  if (!spec?.user && !spec?.groups?.length)
    errors.push(invalid(SPEC.child('user'), spec?.user ?? '', 'at least one of user or group must be specified'))
  return errors
}

export const validateSelfAccessReview = ({ spec }: SelfSubjectAccessReview): FieldError[] => validateAttributes(spec)

export function validateLocalAccessReview(review: LocalSubjectAccessReview): FieldError[] {
  const errors = validateAccessReview(review)
  const { resourceAttributes, nonResourceAttributes } = review.spec ?? {}
  if (resourceAttributes && (resourceAttributes.namespace ?? '') !== (review.metadata.namespace ?? ''))
    errors.push(
      invalid(
        SPEC.child('resourceAttributes', 'namespace'),
        resourceAttributes.namespace ?? '',
        'must match metadata.namespace',
      ),
    )
  if (nonResourceAttributes)
    errors.push(
      invalid(SPEC.child('nonResourceAttributes'), nonResourceAttributes, 'disallowed on this kind of request'),
    )
  return errors
}

function validateAttributes(spec: SelfSubjectAccessReviewSpec | undefined): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec ?? {}
  const errors: FieldError[] = []
  if (resourceAttributes && nonResourceAttributes) {
    const message = 'cannot be specified in combination with resourceAttributes'
    errors.push(invalid(SPEC.child('nonResourceAttributes'), nonResourceAttributes, message))
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    const message = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    errors.push(invalid(SPEC.child('resourceAttributes'), null, message))
  }
  if (resourceAttributes) errors.push(...validateSelectors(resourceAttributes))
  return errors
}

function validateSelectors(attributes: ResourceAttributes): FieldError[] {
  const errors: FieldError[] = []
  for (const field of ['fieldSelector', 'labelSelector'] as const) {
    const selector = attributes[field]
    if (!selector) continue
    const path = SPEC.child('resourceAttributes', field)
    const { rawSelector, requirements } = selector
    if (rawSelector && requirements?.length)
      errors.push(invalid(path.child('rawSelector'), rawSelector, 'may not specified at the same time as requirements'))
    if (!rawSelector && !requirements?.length)
      errors.push(
        required(path.child('requirements'), `when ${path} is specified, requirements or rawSelector is required`),
      )
  }
  return errors
}
