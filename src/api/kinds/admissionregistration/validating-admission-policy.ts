import type {
  AuditAnnotation,
  ValidatingAdmissionPolicy,
  Validation,
} from '../../generated/admissionregistration-v1.ts'
import { defineKind } from '../../kind.ts'
import { duplicate, type FieldError, invalid, notSupported, required, tooMany } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isQualifiedName } from '../../meta/names.ts'
import { prepareCreateWithStatus, prepareUpdateWithStatus, statusSubresource } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { defaultMatchResources } from './match-resources.ts'
import { MAX_EXPRESSIONS, printedParamKind, validatePolicySpec } from './policy.ts'

const SPEC = FieldPath.root('spec')
const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized']
const MAX_ANNOTATIONS = 20
const MAX_VALUE_EXPRESSION = 5 * 1024

export const validatingAdmissionPolicyKind = defineKind<ValidatingAdmissionPolicy>({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy',
  unconditionalUpdate: false,
  defaults: ({ spec }) => {
    if (!spec) return
    spec.failurePolicy ??= 'Fail'
    defaultMatchResources(spec.matchConstraints)
  },
  prepareCreate: prepareCreateWithStatus,
  prepareUpdate: prepareUpdateWithStatus,
  validate,
  columns: [
    nameColumn,
    column<ValidatingAdmissionPolicy>(
      'Validations',
      'How many rules the policy has.',
      (policy) => policy.spec?.validations?.length ?? 0,
      'integer',
    ),
    column<ValidatingAdmissionPolicy>('ParamKind', 'Kind of its parameters.', (policy) =>
      printedParamKind(policy.spec?.paramKind),
    ),
    ageColumn,
  ],
  subresources: { status: statusSubresource<ValidatingAdmissionPolicy>({ validateUpdate: validateStatus }) },
})

function validate({ metadata, spec = {} }: ValidatingAdmissionPolicy): FieldError[] {
  const errors = validatePolicySpec(spec)
  const { validations = [], auditAnnotations = [] } = spec
  if (validations.length > MAX_EXPRESSIONS)
    return [tooMany(SPEC.child('validations'), validations.length, MAX_EXPRESSIONS)]
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const message = 'validations or auditAnnotations must contain at least one item'
    errors.push(required(SPEC.child('validations'), message), required(SPEC.child('auditAnnotations'), message))
  }
  validations.forEach((validation, index) => {
    errors.push(...validateValidation(validation, SPEC.child('validations').index(index)))
  })
  errors.push(...validateAnnotations(auditAnnotations, metadata.name ?? ''))
  return errors
}

function validateValidation(validation: Validation, path: FieldPath): FieldError[] {
  const { expression = '', message = '', messageExpression = '', reason } = validation
  const errors: FieldError[] = []
  if (expression.trim() === '') errors.push(required(path.child('expression'), 'expression is not specified'))
  const blank = 'must be non-empty if specified'
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.push(invalid(path.child('messageExpression'), messageExpression, blank))
  if (message !== '' && message.trim() === '') errors.push(invalid(path.child('message'), message, blank))
  else if (/[\r\n]/.test(message.trim()))
    errors.push(invalid(path.child('message'), message, 'must not contain line breaks'))
  if (reason !== undefined && !REASONS.includes(reason))
    errors.push(notSupported(path.child('reason'), reason, REASONS))
  return errors
}

function validateAnnotations(annotations: readonly AuditAnnotation[], policy: string): FieldError[] {
  const path = SPEC.child('auditAnnotations')
  const errors: FieldError[] = []
  if (annotations.length > MAX_ANNOTATIONS)
    errors.push(invalid(path, annotations, `must not have more than ${MAX_ANNOTATIONS} auditAnnotations`))
  const keys = new Set<string>()
  annotations.forEach(({ key = '', valueExpression = '' }, index) => {
    const at = path.index(index)
    const full = `${policy}/${key}`
    for (const message of isQualifiedName(full)) errors.push(invalid(at.child('key'), full, message))
    const expression = valueExpression.trim()
    if (expression === '') errors.push(required(at.child('valueExpression'), 'valueExpression is not specified'))
    else if (Buffer.byteLength(expression) > MAX_VALUE_EXPRESSION)
      errors.push(required(at.child('valueExpression'), `must not exceed ${MAX_VALUE_EXPRESSION} bytes in length`))
    if (keys.has(key)) errors.push(duplicate(at.child('key'), key))
    keys.add(key)
  })
  return errors
}

function validateStatus({ status }: ValidatingAdmissionPolicy): FieldError[] {
  const path = FieldPath.root('status').child('typeChecking', 'expressionWarnings')
  return (status?.typeChecking?.expressionWarnings ?? []).flatMap(({ fieldRef, warning }, index) => [
    ...(warning ? [] : [required(path.index(index).child('warning'))]),
    ...(fieldRef ? [] : [required(path.index(index).child('fieldRef'))]),
  ])
}
