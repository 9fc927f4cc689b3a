import type { PolicyRule } from '../../../api/generated/rbac-v1.ts'

const ALL = '*'

/** A rule ready to be asked. `undefined` stands for everything. */
export interface CompiledRule {
  readonly rule: PolicyRule
  readonly verbs: ReadonlySet<string> | undefined
  readonly groups: ReadonlySet<string> | undefined
  readonly resources: ReadonlySet<string> | undefined
  /** Empty: whatever the name is. */
  readonly names: ReadonlySet<string>
  readonly urls: readonly string[]
}

const setOf = (values: readonly string[] | undefined): ReadonlySet<string> | undefined =>
  values?.includes(ALL) ? undefined : new Set(values)

export function compileRule(rule: PolicyRule): CompiledRule {
  return {
    rule,
    verbs: setOf(rule.verbs),
    groups: setOf(rule.apiGroups),
    resources: setOf(rule.resources),
    names: new Set(rule.resourceNames),
    urls: rule.nonResourceURLs ?? [],
  }
}

/** Whether the rule speaks of this resource, names aside. `full` is `pods` or `pods/exec`. */
export function coversResource(
  rule: CompiledRule,
  verb: string,
  group: string,
  full: string,
  subresource: string,
): boolean {
  if (rule.verbs !== undefined && !rule.verbs.has(verb)) return false
  if (rule.groups !== undefined && !rule.groups.has(group)) return false
  if (rule.resources === undefined || rule.resources.has(full)) return true
  return subresource !== '' && rule.resources.has(`*/${subresource}`)
}

export function coversPath(rule: CompiledRule, verb: string, path: string): boolean {
  if (rule.verbs !== undefined && !rule.verbs.has(verb)) return false
  return rule.urls.some((url) => urlCovers(url, path))
}

/** `*` is every path, `/api/*` all that begin with `/api/`. */
export function urlCovers(url: string, path: string): boolean {
  if (url === ALL || url === path) return true
  return url.endsWith(ALL) && path.startsWith(url.slice(0, -1))
}
