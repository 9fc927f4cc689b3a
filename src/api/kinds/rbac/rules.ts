import type { PolicyRule } from '../../generated/rbac-v1.ts'
import { type FieldError, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'

const RULES = FieldPath.root('rules')

/** A rule is about resources or about URLs, never both; roles in a namespace cannot speak of URLs. */
export function validatePolicyRules(rules: readonly PolicyRule[] | undefined, namespaced: boolean): FieldError[] {
  return (rules ?? []).flatMap((rule, index) => validatePolicyRule(rule, namespaced, RULES.index(index)))
}

function validatePolicyRule(rule: PolicyRule, namespaced: boolean, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (!rule.verbs?.length) errors.push(required(path.child('verbs'), 'verbs must contain at least one value'))
  const urls = rule.nonResourceURLs ?? []
  if (urls.length > 0) return [...errors, ...validateUrlRule(rule, urls, namespaced, path.child('nonResourceURLs'))]
  if (!rule.apiGroups?.length)
    errors.push(required(path.child('apiGroups'), 'resource rules must supply at least one api group'))
  if (!rule.resources?.length)
    errors.push(required(path.child('resources'), 'resource rules must supply at least one resource'))
  return errors
}

function validateUrlRule(rule: PolicyRule, urls: string[], namespaced: boolean, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (namespaced) errors.push(invalid(path, urls, 'namespaced rules cannot apply to non-resource URLs'))
  if (rule.apiGroups?.length || rule.resources?.length || rule.resourceNames?.length)
    errors.push(invalid(path, urls, 'rules cannot apply to both regular resources and non-resource URLs'))
  return errors
}
