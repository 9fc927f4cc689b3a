import type { RoleBinding } from '../../generated/rbac-v1.ts'
import { defineKind } from '../../kind.ts'
import { isPathSegmentName } from '../../meta/names.ts'
import { bindingColumns, bindingDefaults, validateBinding, validateBindingUpdate } from './bindings.ts'

export const roleBindingKind = defineKind<RoleBinding>({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  schema: 'io.k8s.api.rbac.v1.RoleBinding',
  createOnUpdate: true,
  validateName: isPathSegmentName,
  defaults: bindingDefaults,
  validate: (binding) => validateBinding(binding, ['Role', 'ClusterRole'], true),
  validateUpdate: validateBindingUpdate,
  columns: bindingColumns(),
})
