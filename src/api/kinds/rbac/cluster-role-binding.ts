import type { ClusterRoleBinding } from '../../generated/rbac-v1.ts'
import { defineKind } from '../../kind.ts'
import { isPathSegmentName } from '../../meta/names.ts'
import { bindingColumns, bindingDefaults, validateBinding, validateBindingUpdate } from './bindings.ts'

export const clusterRoleBindingKind = defineKind<ClusterRoleBinding>({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
  schema: 'io.k8s.api.rbac.v1.ClusterRoleBinding',
  createOnUpdate: true,
  validateName: isPathSegmentName,
  defaults: bindingDefaults,
  validate: (binding) => validateBinding(binding, ['ClusterRole'], false),
  validateUpdate: validateBindingUpdate,
  columns: bindingColumns(),
})
