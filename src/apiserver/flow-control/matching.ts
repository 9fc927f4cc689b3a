import type {
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '../../api/generated/flowcontrol-v1.ts'
import { parseServiceAccountUser, type UserInfo } from '../identity.ts'

/** What flow control looks at of a request. */
export interface FlowRequest {
  readonly verb: string
  /** Undefined for paths that are no resources. */
  readonly resource?:
    | {
        readonly group: string
        readonly resource: string
        readonly subresource: string
        readonly namespace: string
      }
    | undefined
  readonly path: string
}

export function matchesSchema({ rules = [] }: FlowSchemaSpec, user: UserInfo, request: FlowRequest): boolean {
  return rules.some((rule) => matchesRule(rule, user, request))
}

function matchesRule(rule: PolicyRulesWithSubjects, user: UserInfo, request: FlowRequest): boolean {
  if (!rule.subjects.some((subject) => matchesSubject(subject, user))) return false
  const { resource } = request
  if (!resource) return (rule.nonResourceRules ?? []).some((one) => matchesPath(one, request))
  return (rule.resourceRules ?? []).some((one) => matchesResource(one, request.verb, resource))
}

function matchesSubject(subject: Subject, user: UserInfo): boolean {
  if (subject.user) return has([subject.user.name], user.name)
  if (subject.group) return subject.group.name === '*' || user.groups.includes(subject.group.name)
  if (!subject.serviceAccount) return false
  const account = parseServiceAccountUser(user.name)
  const { namespace, name } = subject.serviceAccount
  return account !== undefined && account.namespace === namespace && has([name], account.name)
}

function matchesResource(
  rule: ResourcePolicyRule,
  verb: string,
  { group, resource, subresource, namespace }: NonNullable<FlowRequest['resource']>,
): boolean {
  if (!has(rule.verbs, verb) || !has(rule.apiGroups, group)) return false
  if (!has(rule.resources, subresource === '' ? resource : `${resource}/${subresource}`)) return false
  return namespace === '' ? rule.clusterScope === true : has(rule.namespaces ?? [], namespace)
}

function matchesPath({ verbs, nonResourceURLs }: NonResourcePolicyRule, { verb, path }: FlowRequest): boolean {
  if (!has(verbs, verb)) return false
  return nonResourceURLs.some(
    (one) => one === '*' || one === path || (one.endsWith('/*') && path.startsWith(one.slice(0, -1))),
  )
}

const has = (values: readonly string[], value: string) => values.includes('*') || values.includes(value)
