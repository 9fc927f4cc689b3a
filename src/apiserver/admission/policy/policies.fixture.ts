import type {
  MutatingAdmissionPolicyBindingSpec,
  MutatingAdmissionPolicySpec,
  ValidatingAdmissionPolicyBindingSpec,
  ValidatingAdmissionPolicySpec,
} from '../../../api/generated/admissionregistration-v1.ts'
import { mutatingAdmissionPolicyKind } from '../../../api/kinds/admissionregistration/mutating-admission-policy.ts'
import { mutatingAdmissionPolicyBindingKind } from '../../../api/kinds/admissionregistration/mutating-admission-policy-binding.ts'
import { validatingAdmissionPolicyKind } from '../../../api/kinds/admissionregistration/validating-admission-policy.ts'
import { validatingAdmissionPolicyBindingKind } from '../../../api/kinds/admissionregistration/validating-admission-policy-binding.ts'
import type { Client } from '../../../client/client.ts'

export const CONFIG_MAPS = {
  resourceRules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
  ],
}

/** A validating policy for config maps, bound to deny. */
export async function addValidatingPolicy(
  client: Client,
  name: string,
  spec: Partial<ValidatingAdmissionPolicySpec>,
  binding: Partial<ValidatingAdmissionPolicyBindingSpec> = {},
): Promise<void> {
  const full = { matchConstraints: CONFIG_MAPS, ...spec }
  await client.resource(validatingAdmissionPolicyKind).create({ metadata: { name }, spec: full })
  await client.resource(validatingAdmissionPolicyBindingKind).create({
    metadata: { name: `${name}-binding` },
    spec: { policyName: name, validationActions: ['Deny'], ...binding },
  })
}

/** A mutating policy for config maps, bound. */
export async function addMutatingPolicy(
  client: Client,
  name: string,
  spec: Partial<MutatingAdmissionPolicySpec>,
  binding: Partial<MutatingAdmissionPolicyBindingSpec> = {},
): Promise<void> {
  const full = { matchConstraints: CONFIG_MAPS, reinvocationPolicy: 'Never', ...spec }
  await client.resource(mutatingAdmissionPolicyKind).create({ metadata: { name }, spec: full })
  await client.resource(mutatingAdmissionPolicyBindingKind).create({
    metadata: { name: `${name}-binding` },
    spec: { policyName: name, ...binding },
  })
}
