import type { PolicyRule } from '../../../api/generated/rbac-v1.ts'
import { getOrCreate } from '../../../base/get-or-create.ts'

/** One verb on one thing: what a rule is made of. */
interface Permission {
  readonly verb: string
  readonly group?: string
  readonly resource?: string
  readonly name?: string | undefined
  readonly url?: string
}

/** The part of the wanted rules that the held ones do not allow, as short as it can be said. */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const missing: Permission[] = []
  for (const rule of wanted)
    for (const permission of permissionsOf(rule))
      if (!held.some((one) => allows(one, permission))) missing.push(permission)
  return compact(missing)
}

function* permissionsOf(rule: PolicyRule): Generator<Permission> {
  for (const verb of rule.verbs) {
    for (const url of rule.nonResourceURLs ?? []) yield { verb, url }
    for (const group of rule.apiGroups ?? [])
      for (const resource of rule.resources ?? [])
        if (rule.resourceNames?.length) for (const name of rule.resourceNames) yield { verb, group, resource, name }
        else yield { verb, group, resource }
  }
}

const has = (values: readonly string[] | undefined, value: string) =>
  values !== undefined && (values.includes('*') || values.includes(value))

function allows(rule: PolicyRule, { verb, group, resource, name, url }: Permission): boolean {
  if (!has(rule.verbs, verb)) return false
  if (url !== undefined) return rule.nonResourceURLs?.some((one) => urlIncludes(one, url)) ?? false
  if (!has(rule.apiGroups, group!) || !hasResource(rule.resources, resource!)) return false
  return !rule.resourceNames?.length || (name !== undefined && rule.resourceNames.includes(name))
}

function hasResource(resources: readonly string[] | undefined, resource: string): boolean {
  if (has(resources, resource)) return true
  const slash = resource.indexOf('/')
  return slash >= 0 && (resources?.includes(`*${resource.slice(slash)}`) ?? false)
}

const urlIncludes = (held: string, wanted: string) =>
  held === '*' || held === wanted || (held.endsWith('*') && wanted.startsWith(held.slice(0, -1)))

/** Verbs of the same thing in one rule. */
function compact(permissions: readonly Permission[]): PolicyRule[] {
  const rules = new Map<string, PolicyRule>()
  for (const { verb, group, resource, name, url } of permissions) {
    const about: Omit<PolicyRule, 'verbs'> =
      url !== undefined
        ? { nonResourceURLs: [url] }
        : { apiGroups: [group!], resources: [resource!], ...(name !== undefined && { resourceNames: [name] }) }
    getOrCreate(rules, JSON.stringify(about), () => ({ ...about, verbs: [] })).verbs.push(verb)
  }
  return [...rules.values()]
}

const list = (values: readonly string[]) => `[${values.map((value) => JSON.stringify(value)).join(' ')}]`

/** `{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}` */
export function describeRule(rule: PolicyRule): string {
  const fields: [string, readonly string[] | undefined][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['ResourceNames', rule.resourceNames],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['Verbs', rule.verbs],
  ]
  const told = fields.filter(([, values]) => values?.length).map(([name, values]) => `${name}:${list(values!)}`)
  return `{${told.join(', ')}}`
}

export const describeGroups = list
