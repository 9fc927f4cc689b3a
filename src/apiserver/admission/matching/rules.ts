import type { NamedRuleWithOperations } from '../../../api/generated/admissionregistration-v1.ts'
import type { Kind } from '../../../api/kind.ts'
import type { AdmissionOperation } from '../plugin.ts'

export type Rule = NamedRuleWithOperations

/** Whether a rule speaks of this operation on this resource, whatever the object is called. */
export function ruleMatches(rule: Rule, kind: Kind, subresource: string, operation: AdmissionOperation): boolean {
  return (
    includes(rule.operations, operation) &&
    includes(rule.apiGroups, kind.group) &&
    includes(rule.apiVersions, kind.version) &&
    (rule.scope === undefined || rule.scope === '*' || (rule.scope === 'Namespaced') === kind.namespaced) &&
    (rule.resources ?? []).some((resource) => resourceMatches(resource, kind.plural, subresource))
  )
}

const includes = (values: readonly string[] | undefined, value: string) =>
  values !== undefined && (values.includes('*') || values.includes(value))

/** A rule names `pods`, one of its doors `pods/log`, all of them with a star, or a door of everything. */
function resourceMatches(text: string, plural: string, subresource: string): boolean {
  const slash = text.indexOf('/')
  const resource = slash < 0 ? text : text.slice(0, slash)
  const door = slash < 0 ? '' : text.slice(slash + 1)
  return (resource === '*' || resource === plural) && (door === '*' || door === subresource)
}
