import { describe, expect, it } from 'vitest'
import type {
  MutatingAdmissionPolicy,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../generated/admissionregistration-v1.ts'
import { cells, describeRules } from '../core/rules.contract.ts'
import { mutatingAdmissionPolicyKind } from './mutating-admission-policy.ts'
import { mutatingAdmissionPolicyBindingKind } from './mutating-admission-policy-binding.ts'
import { validatingAdmissionPolicyKind } from './validating-admission-policy.ts'
import { validatingAdmissionPolicyBindingKind } from './validating-admission-policy-binding.ts'

const matchConstraints = () => ({
  resourceRules: [{ operations: ['CREATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] }],
})
const policy = (): ValidatingAdmissionPolicy => ({
  metadata: { name: 'few-replicas' },
  spec: { matchConstraints: matchConstraints(), validations: [{ expression: 'object.spec.replicas <= 5' }] },
})

describeRules(validatingAdmissionPolicyKind, policy(), [
  [
    'no spec',
    (draft) => delete draft.spec,
    'spec.failurePolicy: Required value',
    'spec.matchConstraints: Required value',
    'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
    'spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item',
  ],
  [
    'matching nothing',
    (draft) => {
      draft.spec!.matchConstraints = {}
    },
    'spec.matchConstraints.resourceRules: Required value',
  ],
  [
    'validations without expression, with odd messages',
    (draft) => {
      draft.spec!.validations = [
        { expression: ' ' },
        { expression: 'true', message: 'a\nb' },
        { expression: 'true', messageExpression: ' ', reason: 'Because' },
      ]
    },
    'spec.validations[0].expression: Required value: expression is not specified',
    'spec.validations[1].message: Invalid value: "a\\nb": must not contain line breaks',
    'spec.validations[2].messageExpression: Invalid value: " ": must be non-empty if specified',
    'spec.validations[2].reason: Unsupported value: "Because": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"',
  ],
  [
    'variables that are no identifiers',
    (draft) => {
      draft.spec!.variables = [
        { name: 'a-b', expression: '1' },
        { name: 'ok', expression: '' },
      ]
    },
    'spec.variables[0].name: Invalid value: "a-b": must be a valid CEL identifier',
    'spec.variables[1].expression: Required value: expression is not specified',
  ],
  [
    'parameters of no version',
    (draft) => {
      draft.spec!.paramKind = { apiVersion: 'example.com/', kind: 'limit_s' }
    },
    'spec.paramKind.apiVersion: Invalid value: "example.com/": version must be specified',
    expect.stringMatching(
      /^spec\.paramKind\.kind: Invalid value: "limit_s": may have mixed case, but should otherwise match: a DNS-1035 label/,
    ) as never,
  ],
  [
    'the same annotation twice',
    (draft) => {
      draft.spec!.auditAnnotations = [
        { key: 'a', valueExpression: '"x"' },
        { key: 'a', valueExpression: '' },
      ]
    },
    'spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified',
    'spec.auditAnnotations[1].key: Duplicate value: "a"',
  ],
])

const binding = (): ValidatingAdmissionPolicyBinding => ({
  metadata: { name: 'a' },
  spec: { policyName: 'few-replicas', validationActions: ['Deny', 'Audit'] },
})
describeRules(validatingAdmissionPolicyBindingKind, binding(), [
  [
    'no spec',
    (draft) => Object.assign(draft, { spec: undefined }),
    'spec.policyName: Required value',
    'spec.validationActions: Required value: at least one validation action is required',
  ],
  [
    'denying and warning',
    (draft) => {
      draft.spec!.validationActions = ['Deny', 'Warn', 'Shout']
    },
    'spec.validationActions[2]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"',
    'spec.validationActions: Invalid value: ["Deny","Warn","Shout"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
  ],
  [
    'parameters by name and selector',
    (draft) => {
      draft.spec!.paramRef = { name: 'a', selector: {} }
    },
    'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
    'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
    'spec.paramRef.parameterNotFoundAction: Required value',
  ],
])

const mutating = (): MutatingAdmissionPolicy => ({
  metadata: { name: 'a' },
  spec: {
    matchConstraints: matchConstraints(),
    reinvocationPolicy: 'Never',
    mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[]' } }],
  },
})
describeRules(mutatingAdmissionPolicyKind, mutating(), [
  [
    'mutating what is going',
    (draft) => {
      draft.spec!.matchConstraints!.resourceRules![0]!.operations = ['DELETE']
    },
    'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
  ],
  [
    'no mutations, no reinvocation',
    (draft) => Object.assign(draft.spec!, { mutations: [], reinvocationPolicy: '' }),
    'spec.mutations: Required value: mutations must contain at least one item',
    'spec.reinvocationPolicy: Required value',
  ],
  [
    'the wrong patch for its type',
    (draft) => {
      draft.spec!.mutations = [{ patchType: 'ApplyConfiguration', jsonPatch: { expression: '[]' } }]
    },
    'spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration',
    'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
  ],
])
describeRules(mutatingAdmissionPolicyBindingKind, { metadata: { name: 'a' }, spec: { policyName: 'a' } }, [
  [
    'deletions',
    (draft) => {
      draft.spec!.matchResources = matchConstraints()
      draft.spec!.matchResources.resourceRules![0]!.operations = ['DELETE']
    },
    'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
  ],
])

describe('policy columns', () => {
  it('count and name', () => {
    const object = policy()
    object.spec!.paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
    expect(cells(validatingAdmissionPolicyKind, object, 0)).toMatchObject({ Validations: 1, ParamKind: 'v1/ConfigMap' })
    expect(cells(mutatingAdmissionPolicyKind, mutating(), 0)).toMatchObject({ Mutations: 1, ParamKind: '<unset>' })
  })
  it.each([
    [undefined, '<unset>'],
    [{ name: 'a' }, '*/a'],
    [{ name: 'a', namespace: 'b' }, 'b/a'],
  ])('parameter %j', (paramRef, expected) => {
    const object = binding()
    if (paramRef) object.spec!.paramRef = paramRef
    expect(cells(validatingAdmissionPolicyBindingKind, object, 0)).toMatchObject({
      PolicyName: 'few-replicas',
      ParamRef: expected,
    })
  })
})
