import type { Role } from '../../generated/rbac-v1.ts'
import { defineKind } from '../../kind.ts'
import { isPathSegmentName } from '../../meta/names.ts'
import { validatePolicyRules } from './rules.ts'

export const roleKind = defineKind<Role>({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'Role',
  plural: 'roles',
  schema: 'io.k8s.api.rbac.v1.Role',
  createOnUpdate: true,
  validateName: isPathSegmentName,
  validate: (role) => validatePolicyRules(role.rules, true),
})
