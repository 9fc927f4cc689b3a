import type { MutatingAdmissionPolicyBinding } from '../../generated/admissionregistration-v1.ts'
import { defineKind } from '../../kind.ts'
import type { FieldError } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { raiseGeneration } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { defaultMatchResources, validateMutatingOperations } from './match-resources.ts'
import { printedParamRef, validateBindingSpec } from './policy.ts'

const SPEC = FieldPath.root('spec')

export const mutatingAdmissionPolicyBindingKind = defineKind<MutatingAdmissionPolicyBinding>({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBinding',
  unconditionalUpdate: false,
  defaults: (draft) => defaultMatchResources(draft.spec?.matchResources),
  prepareCreate: (draft) => {
    draft.metadata.generation = 1
  },
  prepareUpdate: raiseGeneration,
  validate,
  columns: [
    nameColumn,
    column<MutatingAdmissionPolicyBinding>(
      'PolicyName',
      'Policy that is put in force.',
      (binding) => binding.spec?.policyName ?? '',
    ),
    column<MutatingAdmissionPolicyBinding>('ParamRef', 'Where its parameters come from.', (binding) =>
      printedParamRef(binding.spec?.paramRef),
    ),
    ageColumn,
  ],
})

function validate({ spec = {} }: MutatingAdmissionPolicyBinding): FieldError[] {
  return [
    ...validateBindingSpec(spec),
    ...validateMutatingOperations(spec.matchResources, SPEC.child('matchResources')),
  ]
}
