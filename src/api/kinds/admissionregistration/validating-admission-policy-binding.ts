import type { ValidatingAdmissionPolicyBinding } from '../../generated/admissionregistration-v1.ts'
import { defineKind } from '../../kind.ts'
import { duplicate, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { seenBefore } from '../../meta/seen-before.ts'
import { raiseGeneration } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { defaultMatchResources } from './match-resources.ts'
import { printedParamRef, validateBindingSpec } from './policy.ts'

const SPEC = FieldPath.root('spec')
const ACTIONS = ['Audit', 'Deny', 'Warn']

export const validatingAdmissionPolicyBindingKind = defineKind<ValidatingAdmissionPolicyBinding>({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding',
  unconditionalUpdate: false,
  defaults: (draft) => defaultMatchResources(draft.spec?.matchResources),
  prepareCreate: (draft) => {
    draft.metadata.generation = 1
  },
  prepareUpdate: raiseGeneration,
  validate,
  columns: [
    nameColumn,
    column<ValidatingAdmissionPolicyBinding>(
      'PolicyName',
      'Policy that is put in force.',
      (binding) => binding.spec?.policyName ?? '',
    ),
    column<ValidatingAdmissionPolicyBinding>('ParamRef', 'Where its parameters come from.', (binding) =>
      printedParamRef(binding.spec?.paramRef),
    ),
    ageColumn,
  ],
})

function validate({ spec }: ValidatingAdmissionPolicyBinding): FieldError[] {
  return [...validateBindingSpec(spec ?? {}), ...validateActions(spec?.validationActions ?? [])]
}

function validateActions(actions: readonly string[]): FieldError[] {
  const path = SPEC.child('validationActions')
  if (actions.length === 0) return [required(path, 'at least one validation action is required')]
  const errors: FieldError[] = []
  const isRepeated = seenBefore<string>()
  actions.forEach((action, index) => {
    if (!ACTIONS.includes(action)) errors.push(notSupported(path.index(index), action, ACTIONS))
    if (isRepeated(action)) errors.push(duplicate(path.index(index), action))
  })
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const message =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)'
    errors.push(invalid(path, actions, message))
  }
  return errors
}
