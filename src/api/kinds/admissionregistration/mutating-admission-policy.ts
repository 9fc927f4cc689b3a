import type { MutatingAdmissionPolicy, Mutation } from '../../generated/admissionregistration-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid, notSupported, required, tooMany } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { raiseGeneration } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { defaultMatchResources, validateMutatingOperations } from './match-resources.ts'
import { REINVOCATION_POLICIES } from './mutating-webhook-configuration.ts'
import { MAX_EXPRESSIONS, printedParamKind, validatePolicySpec } from './policy.ts'

const SPEC = FieldPath.root('spec')
/** The field that carries the patch, by its type. */
const PATCH_FIELDS = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const

export const mutatingAdmissionPolicyKind = defineKind<MutatingAdmissionPolicy>({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicy',
  unconditionalUpdate: false,
  defaults: ({ spec }) => {
    if (!spec) return
    spec.failurePolicy ??= 'Fail'
    defaultMatchResources(spec.matchConstraints)
  },
  prepareCreate: (draft) => {
    draft.metadata.generation = 1
  },
  prepareUpdate: raiseGeneration,
  validate,
  columns: [
    nameColumn,
    column<MutatingAdmissionPolicy>(
      'Mutations',
      'How many mutations the policy makes.',
      (policy) => policy.spec?.mutations?.length ?? 0,
      'integer',
    ),
    column<MutatingAdmissionPolicy>('ParamKind', 'Kind of its parameters.', (policy) =>
      printedParamKind(policy.spec?.paramKind),
    ),
    ageColumn,
  ],
})

function validate({ spec = {} }: MutatingAdmissionPolicy): FieldError[] {
  const count = spec.mutations?.length ?? 0
  if (count > MAX_EXPRESSIONS) return [tooMany(SPEC.child('mutations'), count, MAX_EXPRESSIONS)]
  const errors = validatePolicySpec(spec)
  errors.push(...validateMutatingOperations(spec.matchConstraints, SPEC.child('matchConstraints')))
  if (!spec.mutations?.length)
    errors.push(required(SPEC.child('mutations'), 'mutations must contain at least one item'))
  spec.mutations?.forEach((mutation, index) => {
    errors.push(...validateMutation(mutation, SPEC.child('mutations').index(index)))
  })
  const policy = spec.reinvocationPolicy ?? ''
  if (policy === '') errors.push(required(SPEC.child('reinvocationPolicy')))
  else if (!REINVOCATION_POLICIES.includes(policy))
    errors.push(notSupported(SPEC.child('reinvocationPolicy'), policy, REINVOCATION_POLICIES))
  return errors
}

function validateMutation(mutation: Mutation, path: FieldPath): FieldError[] {
  const type = mutation.patchType ?? ''
  if (type === '') return [required(path.child('patchType'))]
  if (!Object.hasOwn(PATCH_FIELDS, type))
    return [notSupported(path.child('patchType'), type, Object.keys(PATCH_FIELDS))]
  const errors: FieldError[] = []
  for (const [ofType, field] of Object.entries(PATCH_FIELDS)) {
    const patch = mutation[field]
    const at = path.child(field)
    if (ofType !== type) {
      if (patch) errors.push(invalid(at, `{${field}}`, `must not be specified when patchType is ${type}`))
    } else if (!patch) errors.push(required(at, `must be specified when patchType is ${type}`))
    else if (!patch.expression?.trim()) errors.push(required(at.child('expression')))
  }
  return errors
}
