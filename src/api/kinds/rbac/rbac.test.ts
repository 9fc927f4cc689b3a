import { describe, expect, it } from 'vitest'
import type { ClusterRoleBinding, PolicyRule, RoleBinding } from '../../generated/rbac-v1.ts'
import { cells, describeRules, describeUpdateRules } from '../core/rules.contract.ts'
import { clusterRoleKind } from './cluster-role.ts'
import { clusterRoleBindingKind } from './cluster-role-binding.ts'
import { roleKind } from './role.ts'
import { roleBindingKind } from './role-binding.ts'

const rule: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }

describeRules(roleKind, { metadata: { name: 'system:a' }, rules: [rule] }, [
  ['no rules', (draft) => delete draft.rules],
  [
    'an empty rule',
    (draft) => {
      draft.rules = [{} as PolicyRule]
    },
    'rules[0].verbs: Required value: verbs must contain at least one value',
    'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
    'rules[0].resources: Required value: resource rules must supply at least one resource',
  ],
  [
    'URLs in a namespace',
    (draft) => {
      draft.rules = [{ verbs: ['get'], nonResourceURLs: ['/x'] }]
    },
    'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
  ],
])

describeRules(clusterRoleKind, { metadata: { name: 'a' }, rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] }, [
  [
    'URLs and resources in one rule',
    (draft) => {
      draft.rules = [{ ...rule, nonResourceURLs: ['/x'] }]
    },
    'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
  ],
  [
    'aggregation of nothing',
    (draft) => {
      draft.aggregationRule = {}
    },
    'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
  ],
  [
    'aggregation by labels',
    (draft) => {
      draft.aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }
    },
  ],
])

const binding = (): RoleBinding => ({
  metadata: { name: 'a', namespace: 'shop', creationTimestamp: '2026-01-01T00:00:00Z' },
  roleRef: { kind: 'Role', name: 'reader' } as RoleBinding['roleRef'],
  subjects: [{ kind: 'User', name: 'ann' }],
})
const GROUP = 'supported values: "rbac.authorization.k8s.io"'

describeRules(roleBindingKind, binding(), [
  ['a service account of the namespace', (draft) => draft.subjects!.push({ kind: 'ServiceAccount', name: 'default' })],
  [
    'no role',
    (draft) => {
      draft.roleRef = {} as never
    },
    'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
    'roleRef.name: Required value',
  ],
  [
    'a role of another group',
    (draft) => {
      draft.roleRef.apiGroup = 'example.com'
    },
    `roleRef.apiGroup: Unsupported value: "example.com": ${GROUP}`,
  ],
  [
    'a subject of unknown kind, without name',
    (draft) => {
      draft.subjects = [{ kind: 'Robot', name: '' }]
    },
    'subjects[0].name: Required value',
    'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
  ],
  [
    'a service account with a group',
    (draft) => {
      draft.subjects = [{ kind: 'ServiceAccount', name: 'a', apiGroup: 'x' }]
    },
    'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
  ],
])

const clusterBinding: ClusterRoleBinding = {
  metadata: { name: 'a' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
}
describeRules(clusterRoleBindingKind, clusterBinding, [
  [
    'a role of a namespace',
    (draft) => {
      draft.roleRef.kind = 'Role'
    },
    'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
  ],
  [
    'a service account of no namespace',
    (draft) => {
      draft.subjects = [{ kind: 'ServiceAccount', name: 'a' }]
    },
    'subjects[0].namespace: Required value',
  ],
])

describeUpdateRules(roleBindingKind, binding(), [
  [
    'other subjects',
    (draft) => {
      draft.subjects = []
    },
  ],
  [
    'another role',
    (draft) => {
      draft.roleRef.name = 'admin'
    },
    'roleRef: Invalid value: {"kind":"Role","name":"admin","apiGroup":"rbac.authorization.k8s.io"}: cannot change roleRef',
  ],
])

describe('RoleBinding', () => {
  it('prints its subjects by kind', () => {
    const object = binding()
    object.subjects = [
      { kind: 'User', name: 'ann' },
      { kind: 'User', name: 'bob' },
      { kind: 'Group', name: 'dev' },
      { kind: 'ServiceAccount', name: 'ci', namespace: 'build' },
    ]
    expect(cells(roleBindingKind, object, Date.UTC(2026, 0, 1, 0, 0, 42))).toEqual({
      Name: 'a',
      Role: 'Role/reader',
      Age: '42s',
      Users: 'ann, bob',
      Groups: 'dev',
      ServiceAccounts: 'build/ci',
    })
  })

  it('gives users and groups their API group', () => {
    const object = binding()
    roleBindingKind.defaults?.(object)
    expect(object.subjects).toEqual([{ kind: 'User', name: 'ann', apiGroup: 'rbac.authorization.k8s.io' }])
  })
})
