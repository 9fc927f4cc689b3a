import type { ClusterRole } from '../../generated/rbac-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { validateLabelSelector } from '../../meta/label-selector.ts'
import { isPathSegmentName } from '../../meta/names.ts'
import { validatePolicyRules } from './rules.ts'

const SELECTORS = FieldPath.root('aggregationRule').child('clusterRoleSelectors')

export const clusterRoleKind = defineKind<ClusterRole>({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
  schema: 'io.k8s.api.rbac.v1.ClusterRole',
  createOnUpdate: true,
  validateName: isPathSegmentName,
  validate,
})

function validate(role: ClusterRole): FieldError[] {
  const errors = validatePolicyRules(role.rules, false)
  if (!role.aggregationRule) return errors
  const selectors = role.aggregationRule.clusterRoleSelectors ?? []
  if (selectors.length === 0)
    errors.push(required(SELECTORS, 'at least one clusterRoleSelector required if aggregationRule is non-nil'))
  selectors.forEach((selector, index) => {
    const wrong = validateLabelSelector(selector, SELECTORS.index(index))
    if (wrong.length > 0) errors.push(...wrong, invalid(SELECTORS.index(index), selector, 'invalid label selector.'))
  })
  return errors
}
